// This file is empty: its target exists for the headers that are precompiled with it.
