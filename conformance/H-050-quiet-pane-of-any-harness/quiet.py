#!/usr/bin/env python3
import os, sys; sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from _lib import *
config = os.path.join(os.environ["XDG_CONFIG_HOME"], "herdbook"); os.makedirs(config)
with open(os.path.join(config, "config.toml"), "w") as f: f.write("[detector]\nquiet_s = 1\npoll_s = 1\n")
t = Tmux("default")
asks = t.session("asks", "printf 'Proceed? [y/N] '; read x; echo busy; exec sleep 600", 100, 30, "-c", "/")
silent = t.session("silent", "echo building; exec sleep 600")
plain = t.session("plain", "printf 'Proceed? [y/N] '; exec sleep 600")
t("select-pane", "-t", asks, "-T", "@hb-one"); t("select-pane", "-t", silent, "-T", "@tb-two"); t("select-pane", "-t", plain, "-T", "three")
d = start_daemon(env=dict(os.environ, HERDBOOK_PANES="on"))
wait(queue, 30)
items = queue()
sid = items[0]["session_id"]
session = lambda: call("GET", "/v1/sessions/" + sid.replace("%", "%25"))[1] or {}
why = (call("GET", "/v1/sessions/" + sid.replace("%", "%25") + "/why")[1] or {}).get("evidence") or []
others = lambda: [s for s in call("GET", "/v1/sessions")[1]["items"] if s["session_id"] != sid]
item = dict({k: items[0][k] for k in ("reason", "last_message", "cwd")}, pane_is_the_one=items[0]["pane_id"] == asks)
transcript = session().get("transcript_path")
t("send-keys", "-t", asks, "y", "Enter")
wait(lambda: not queue(), 30); after = len(queue())
silent_state = others()[0]["state"] if len(others()) == 1 else len(others())
t("select-pane", "-t", asks, "-T", "one")
wait(lambda: session().get("state") == "ended", 30); state = session().get("state")
stop(d); t.kill()
done(queued=len(items), id_names_pane=sid.startswith("tmux-%s-" % asks) and sid.rsplit("-", 1)[1].isdigit(), item=item,
     transcript_path=transcript, sources=[e["source"] for e in why], after_answer=after, state_without_title=state, silent_state=silent_state)
