#!/usr/bin/env python3
"""Real clients against the real daemon: seconds of wrong state, and where `next` lands.

  truth.py --shared DIR --clients DIR --out DIR --bin DIR [SCENARIO...]

For each scenario a daemon of its own is started in a scratch folder, the client runs in a private tmux with our hook
beside the driver's capture, the queue is sampled, and the samples are scored against the truth of the recorded run.
While the client waits, `herdbook next` is called for a tmux client that looks elsewhere: it must land in the agent's
pane. Exit status: 0 never wrong, 1 wrong, 2 could not run. Loopback only.
"""
import argparse
import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request

DEFAULT = ["claude-plain-turn", "claude-permission-allow", "codex-permission-allow"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Herd:
    """A private daemon."""

    def __init__(self, folder, binaries):
        self.folder, self.binaries, self.port = folder, binaries, free_port()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": os.path.join(folder, "home"),
            "XDG_RUNTIME_DIR": os.path.join(folder, "run"),
            "XDG_STATE_HOME": os.path.join(folder, "state"),
            "HERDBOOK_ADDR": "127.0.0.1:%d" % self.port,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        for key in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"):
            os.makedirs(self.env[key], mode=0o700)

    def herdbook(self, *words, **more):
        env = dict(self.env, **more)
        return subprocess.run([os.path.join(self.binaries, "herdbook"), *words], env=env, text=True, capture_output=True, timeout=20)

    def get(self, path):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=2) as answer:
            return json.load(answer)

    def start(self):
        log = open(os.path.join(self.folder, "daemon.log"), "w")
        self.process = subprocess.Popen([os.path.join(self.binaries, "herdbook"), "daemon"], env=self.env, stdout=log, stderr=log)
        end = time.time() + 10
        while time.time() < end:
            try:
                self.get("/status")
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the daemon does not answer: see " + log.name)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


class Jump(threading.Thread):
    """Waits for an entry in the queue, then jumps there from a client that looks at another window."""

    def __init__(self, herd, tmux_socket):
        super().__init__(daemon=True)
        self.herd, self.socket, self.result, self.quit = herd, tmux_socket, "never waited", threading.Event()

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *words], env=self.herd.env, text=True, capture_output=True, timeout=10)
        return done.stdout.strip()

    def run(self):
        while not self.quit.is_set():
            try:
                items = self.herd.get("/v1/queue")["items"]
            except OSError:
                items = []
            if items:
                try:
                    self.jump(items[0])
                except Exception as error:  # the thread's failure is the scenario's failure
                    self.result = "failed: %s" % error
                return
            time.sleep(0.1)

    def jump(self, entry):
        window = self.tmux("new-window", "-d", "-P", "-F", "#{window_id}", "-t", "dev:", "sleep 60")
        control, terminal = pty.openpty()
        attach = subprocess.Popen(["tmux", "-S", self.socket, "attach", "-t", "dev"], env=self.herd.env, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
        os.close(terminal)
        drain = threading.Thread(target=self.drain, args=(control,), daemon=True)
        drain.start()
        try:
            tty = ""
            while not tty:
                tty = self.tmux("list-clients", "-F", "#{client_tty}").split("\n")[0]
                time.sleep(0.05)
            self.tmux("switch-client", "-c", tty, "-t", window)
            server = self.tmux("display-message", "-p", "#{pid}")
            done = self.herd.herdbook("next", "--client", tty, TMUX="%s,%s,0" % (self.socket, server))
            at = self.tmux("display-message", "-p", "-c", tty, "#{pane_id}")
            right = at == entry["pane_id"]
            self.result = "landed in %s" % at if right else "WRONG: in %s, not %s (%s%s)" % (at, entry["pane_id"], done.stdout, done.stderr)
        finally:
            self.tmux("kill-window", "-t", window)
            attach.terminate()
            attach.wait()

    @staticmethod
    def drain(control):
        try:
            while os.read(control, 65536):
                pass
        except OSError:
            pass


def run(scenario, args):
    folder = os.path.join(os.path.abspath(args.out), scenario)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    herd = Herd(folder, os.path.abspath(args.bin))
    herd.start()
    out = os.path.join(folder, "run")
    host = scenario.split("-")[0]
    socket_path = os.path.join(out, "t.sock")
    if len(socket_path) > 100:
        raise RuntimeError("--out is too long a path for a tmux socket")
    jump = Jump(herd, socket_path)
    jump.start()
    hook = "env XDG_RUNTIME_DIR=%s XDG_STATE_HOME=%s %s %s" % (
        herd.env["XDG_RUNTIME_DIR"], herd.env["XDG_STATE_HOME"], os.path.join(herd.binaries, "herdbook-hook"), host)
    tools = os.path.join(args.shared, "tools")
    driver = subprocess.run(
        ["bash", os.path.join(tools, "real_clients.sh"), "run", scenario, "--clients", os.path.abspath(args.clients), "--out", out,
         "--hook", hook, "--sample", "http://127.0.0.1:%d/v1/queue" % herd.port], text=True, capture_output=True, timeout=180)
    jump.quit.set()
    jump.join(timeout=20)
    score = subprocess.run(
        [sys.executable, os.path.join(tools, "truth_score.py"), "--run", out,
         "--truth", os.path.join(args.shared, "real-cases", scenario, "truth.json")], text=True, capture_output=True)
    queue_after = herd.get("/v1/queue")["count"]
    herd.stop()
    print("== %s\n%s%s%snext: %s; queue afterwards: %d" % (scenario, driver.stdout, score.stdout, score.stderr, jump.result, queue_after), flush=True)
    if driver.returncode:
        raise RuntimeError("the driver could not play the scenario: " + driver.stderr[-500:])
    return score.returncode == 0 and jump.result.startswith("landed") and queue_after == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", required=True, help="folder with tools/ and real-cases/")
    parser.add_argument("--clients", required=True, help="folder made by real_clients.sh install")
    parser.add_argument("--out", required=True, help="scratch folder, made anew for each scenario")
    parser.add_argument("--bin", required=True, help="folder with herdbook and herdbook-hook")
    parser.add_argument("scenario", nargs="*", default=DEFAULT)
    args = parser.parse_args()
    right = 0
    for scenario in args.scenario:
        # A client that a busy machine kept from a step of the script shows nothing about the product: such a run,
        # and only such a run, is made once more.
        for _ in range(2):
            try:
                ok = run(scenario, args)
                break
            except (subprocess.TimeoutExpired, RuntimeError) as error:
                print("== %s: not played: %s" % (scenario, error), flush=True)
                ok = False
        right += ok
    print("%d passed, %d failed" % (right, len(args.scenario) - right))
    sys.exit(0 if right == len(args.scenario) else 1)


if __name__ == "__main__":
    main()
