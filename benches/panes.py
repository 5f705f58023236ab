#!/usr/bin/env python3
"""What looking at panes costs, at 200 panes, beside what tmux itself can do in the same run.

  panes.py SHARED HERDBOOK HOOK [--seconds N]

SHARED holds bench/detector.py, which makes the tmux server with its panes, times the floor (one lasting client that
captures all of them in one write), and reads the CPU of our daemon and of the server. First all 200 panes are near a
decision, each with a permission dialog that waits for its human, then 5 of them. Their titles are those that the detector
watches, so all 200 are also his. Exits 0 whatever the figures are, since
a busy machine is no fault of the code. Loopback and scratch folders only.
"""
import glob, json, os, pty, re, signal, subprocess, sys, tempfile, time

PANES = 200
# The reference's own detector at 200 panes, measured by the same tool: per cent of a core, tmux's share included.
REFERENCE = 51.0
DIALOG = "\nDo you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel · Tab to amend\n"


def hook(program, pane, event, more):
    payload = dict(more, session_id="s-" + pane[1:], cwd="/tmp", hook_event_name=event)
    env = dict(os.environ, TMUX_PANE=pane)
    subprocess.run([program, "claude"], input=json.dumps(payload).encode(), env=env, check=True)


def agent(program, pane):
    """A stand-in with a terminal of its own; it asks, and waits for its end."""
    tool = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t-1"}
    for event in ("UserPromptSubmit", "PreToolUse", "PermissionRequest"):
        hook(program, pane, event, tool)
    signal.pause()


def client_cpu(daemon):
    """Seconds of the daemon's lasting tmux client: detector.py counts children only once they are gone."""
    ticks = 0
    # Each thread has its own children.
    lists = [open(path).read().split() for path in glob.glob("/proc/%d/task/*/children" % daemon)]
    for child in sum(lists, []):
        name, stat = open("/proc/%s/stat" % child).read().rsplit(")", 1)
        if "(tmux" in name:
            ticks += sum(map(int, stat.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def herd(near, herdbook, program, looks):
    """Makes the agents, then notes what the daemon counts until it is gone."""
    socket = os.environ["TMUX"].split(",")[0]
    tmux = ["tmux", "-u", "-S", socket]
    server = subprocess.run(tmux + ["display-message", "-p", "#{pid}"], capture_output=True, text=True).stdout.strip()
    os.environ["TMUX"] = "%s,%s,0" % (socket, server)
    status = lambda: subprocess.run([herdbook, "status", "--json"], capture_output=True, text=True)
    while status().returncode:
        time.sleep(0.1)
    agents = []
    for pane in range(near):
        pane = "%%%d" % pane
        subprocess.run(tmux + ["send-keys", "-t", pane, "-l", DIALOG], check=True)
        pid, _ = pty.fork()
        if pid == 0:
            agent(program, pane)
        agents.append(pid)
    with open(looks, "w") as told:
        while True:
            now = status()
            if now.returncode:
                break
            now = json.loads(now.stdout)
            told.write("%d %d %d %f %f\n" % (now["stuck_count"], now["pane_looks"], now["pane_looks_us"], time.time(), client_cpu(now["pid"])))
            told.flush()
            time.sleep(2)
    for pid in agents:
        os.kill(pid, signal.SIGTERM)


def measure(shared, herdbook, program, near, seconds):
    with tempfile.TemporaryDirectory() as scratch:
        looks = os.path.join(scratch, "looks")
        env = {k: v for k, v in os.environ.items() if not k.startswith(("HERDBOOK_", "XDG_", "CLAUDE"))}
        # Which agents run on this machine besides is not the bench's.
        env.update(HOME=scratch, HERDBOOK_STATE=scratch + "/state", HERDBOOK_ADDR="127.0.0.1:0", HERDBOOK_PANES="on",
                   HERDBOOK_DISCOVER="off")
        words = [sys.executable, shared + "/bench/detector.py", "--panes", str(PANES), "--seconds", str(seconds),
                 "--settle", str(12 + near * 0.1), "--probe", "--",
                 sys.executable, os.path.abspath(__file__), "--daemon", str(near), herdbook, program, looks]
        text = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout
        told = [list(map(float, line.split())) for line in open(looks)]
    number = lambda pattern: float(re.search(pattern, text).group(1))
    if told[-1][0] < near:
        sys.exit("only %d of %d sessions wait" % (told[-1][0], near))
    # The first looks come while the agents are made.
    told = [sample for sample in told if sample[3] >= told[-1][3] - seconds]
    first, last = told[0], told[-1]
    count = last[1] - first[1]
    return {
        "ours": number(r"detector CPU +([\d.]+)"), "client": 100 * (last[4] - first[4]) / (last[3] - first[3]), "tmux": number(r"tmux server CPU +([\d.]+)"), "rss": number(r"RSS ([\d.]+)"),
        "floor": number(r"capture all +p50 +([\d.]+)"), "floor_list": number(r"control mode: list-panes +p50 +([\d.]+)"),
        "count": count, "look": (last[2] - first[2]) / 1000 / count if count else float("nan"),
    }


def verdict(what, found, goal):
    print("%-58s %6.2f %s (goal at most %.2f)" % (what, found, "met" if found <= goal else "MISSED", goal))


def main():
    shared, herdbook, program = map(os.path.abspath, sys.argv[1:4])
    seconds = float(sys.argv[5]) if sys.argv[4:5] == ["--seconds"] else 20
    for near in (PANES, 5):
        found = measure(shared, herdbook, program, near, seconds)
        cpu = found["ours"] + found["client"] + found["tmux"]
        print("%d panes, %d near a decision: CPU %.2f %% ours + %.2f %% our client's + %.2f %% tmux's, %d looks of %.1f ms, floor %.1f ms, %.1f MiB" % (
            PANES, near, found["ours"], found["client"], found["tmux"], found["count"], found["look"], found["floor"], found["rss"]))
        verdict("  CPU / the reference's (%.0f %%)" % REFERENCE, cpu / REFERENCE, 1 / 20)
        verdict("  a look / what tmux needs to show all", found["look"] / found["floor"], 3)


if sys.argv[1:2] == ["--daemon"]:
    near, herdbook, program, looks = int(sys.argv[2]), *sys.argv[3:]
    if os.fork() == 0:
        herd(near, herdbook, program, looks)
        os._exit(0)
    os.execv(herdbook, [herdbook, "daemon"])
main()
