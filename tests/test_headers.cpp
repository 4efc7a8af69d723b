// Empty: its target is there for what is precompiled with it.
