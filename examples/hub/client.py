"""A client of skein's hub, over its unix socket: python3 client.py <hub.json> <directory> "prompt" """
import json, socket, sys

place, directory, prompt = sys.argv[1:]
line = socket.socket(socket.AF_UNIX)
line.connect(json.load(open(place))["socket"])
messages = line.makefile("rw", encoding="utf-8", newline="\n")


def ask(method, **params):
    messages.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    messages.flush()
    answer = next(message for message in map(json.loads, messages) if "id" in message)
    if "error" in answer:
        sys.exit(answer["error"]["message"])
    return answer["result"]


ask("hub.hello", protocol=1, client="example", directory=directory)
for session in ask("session.list"):
    print(session["id"], session["name"] or "")
session = ask("session.open", directory=directory)
ask("turn.start", session=session["id"], prompt=prompt)
for message in map(json.loads, messages):
    if message["method"] == "feed.end":
        break
    if message["params"]["item"]["type"] == "text.delta":
        print(message["params"]["item"]["text"], end="", flush=True)
