"""A client of skein's hub on its unix socket: python3 client.py <hub.json> <directory> "prompt" """
import json, socket, sys

hub_file, directory, prompt = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
connection.connect(json.load(open(hub_file))["socket"])
messages = connection.makefile("rw", encoding="utf-8", newline="\n")


def call(method, **params):
    messages.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    messages.flush()
    answer = next(message for message in map(json.loads, messages) if "id" in message)
    if "error" in answer:
        sys.exit(answer["error"]["message"])
    return answer["result"]


call("hub.hello", protocol=1, client="example", directory=directory)
for session in call("session.list"):
    print(session["id"], session["name"] or "")
session = call("session.open", directory=directory)
call("turn.start", session=session["id"], prompt=prompt)
for message in map(json.loads, messages):
    if message["method"] == "feed.end":
        break
    if message["params"]["item"]["type"] == "text.delta":
        print(message["params"]["item"]["text"], end="", flush=True)
