"""A headless Chromium that a test drives by the DevTools protocol, over a pair of pipes."""

import fcntl
import json
import os
import select
import subprocess

# Runs in the page, and resolves once the expression is true. The DOM says when it has changed.
WHEN_TRUE = """
new Promise((resolve, reject) => {
  const holds = () => { try { return %s } catch (error) { reject(error); } };
  if (holds()) return resolve(performance.now());
  const observer = new MutationObserver(() => {
    if (!holds()) return;
    observer.disconnect();
    resolve(performance.now());
  });
  observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  setTimeout(() => reject(new Error('this did not happen: ' + %s)), %d);
})"""


class Browser:
    """One page. `errors` are the page's exceptions, and what the browser writes to its console as an error or
    a warning."""

    def __init__(self, program, folder, patience):
        self.patience, self.errors, self.last_id, self.session = patience, [], 0, None
        self.to_browser = self.from_browser = None
        commands_read, commands_write = os.pipe()
        replies_read, replies_write = os.pipe()

        def give_pipes():  # Chromium reads commands from descriptor 3 and writes replies to 4
            copies = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands_read, replies_write)]
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        flags = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 f"--user-data-dir={folder}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # which root cannot have; the page is our own
        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=give_pipes, pass_fds=(3, 4),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands_read)
        os.close(replies_write)
        self.to_browser = os.fdopen(commands_write, "wb", buffering=0)
        self.from_browser = os.fdopen(replies_read, "rb")
        self.unread = b""

    def open(self, url, script=None):
        """Opens a page; `script` runs before those of the page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Accessibility"):
            self.call(domain + ".enable")
        if script:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        self.call("Page.navigate", url=url)

    def message(self):
        while b"\0" not in self.unread:
            if not select.select([self.from_browser], [], [], 2 * self.patience)[0]:
                raise RuntimeError("the browser does not answer")
            more = os.read(self.from_browser.fileno(), 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.unread += more
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        """Returns the reply; notes errors of the page that are reported before it."""
        self.last_id += 1
        command = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        self.to_browser.write(json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.note(message)

    def note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"]["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(str([each.get("value") for each in parameters["args"]]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def until(self, expression):
        """Returns once the expression is true, after a change of the document."""
        self.value(WHEN_TRUE % (expression, json.dumps(expression), self.patience * 1000))

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def accessible(self):
        """What a screen reader finds: (role, name, properties) of each node that is not ignored."""
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            if not node.get("ignored"):
                yield (node["role"]["value"], node.get("name", {}).get("value", ""),
                       {each["name"]: each["value"].get("value") for each in node.get("properties", [])})

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.to_browser.close()
        self.from_browser.close()
