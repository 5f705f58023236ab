#!/usr/bin/env python3
import os, sys; sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from _lib import *
config = os.path.join(os.environ["XDG_CONFIG_HOME"], "herdbook"); os.makedirs(config)
with open(os.path.join(config, "config.toml"), "w") as f: f.write("[detector]\nquiet_s = 1\npoll_s = 1\n")
t = Tmux("default")
panes = [t.session("s%d" % n, "printf 'Proceed? [y/N] '; read x; echo busy; exec sleep 600") for n in range(2)]
for pane in panes: t("select-pane", "-t", pane, "-T", "@tb-" + pane[1:])
ids = lambda: {i["pane_id"]: i["session_id"] for i in queue()}
env = dict(os.environ, HERDBOOK_PANES="on")
d = start_daemon(env=env)
wait(lambda: len(queue()) == 2, 30); before = ids()
d.kill(); d.wait()
t("send-keys", "-t", panes[1], "n", "Enter")
d = start_daemon(env=env)
again = ids()
wait(lambda: len(queue()) == 1, 30); left = ids()
stop(d)
d = start_daemon(env=env)
wait(queue, 30); after = ids()
stop(d); t.kill()
done(queued=len(before), at_once_after_crash=again.get(panes[0]) == before.get(panes[0]), answered_meanwhile_is_over=left == {panes[0]: before.get(panes[0])},
     other_id_after_stop=list(after) == [panes[0]] and after[panes[0]] != before[panes[0]])
