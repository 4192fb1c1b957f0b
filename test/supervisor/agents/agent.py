"""An agent that is not Node's: calls Echo twice, with the second call sent before the first is answered."""

import json
import sys


def send(call_id, tool, args):
    call = {"op": "tool_call", "tool_call_id": call_id, "tool": tool, "args": args}
    sys.stdout.write(json.dumps(call) + "\n")
    sys.stdout.flush()


send("p1", "Echo", {"text": "from Python"})
send("p2", "Read", {"path": "/etc/passwd"})
answers = {}
for _ in range(2):
    answer = json.loads(sys.stdin.readline())
    answers[answer["tool_call_id"]] = answer
print("python:", answers["p1"]["result"]["text"], answers["p2"]["error"])
sys.exit(5)
