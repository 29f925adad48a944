// A client of skein's hub, on its WebSocket: bun client.ts <hub.json> <directory> "prompt"
import { readFileSync } from "node:fs";

const [hubFile, directory, prompt] = process.argv.slice(2) as [string, string, string];
const hub = JSON.parse(readFileSync(hubFile, "utf8")) as { url: string; token_file: string };
const socket = new WebSocket(hub.url, ["skein", readFileSync(hub.token_file, "utf8").trim()]);
let lastId = 0;

function call<Result>(method: string, params: object): Promise<Result> {
  const id = ++lastId;
  socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return new Promise((resolve, reject) => {
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(data as string);
      if (message.id !== id) return;
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
    });
  });
}

socket.addEventListener("message", ({ data }) => {
  const { method, params } = JSON.parse(data as string);
  if (method === "feed.item" && params.item.type === "text.delta") process.stdout.write(params.item.text);
  if (method === "feed.end") socket.close();
});
await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
await call("hub.hello", { protocol: 1, client: "example", directory });
for (const { id, name } of await call<{ id: string; name: string | null }[]>("session.list", {})) console.log(id, name ?? "");
const session = await call<{ id: string }>("session.open", { directory });
await call("turn.start", { session: session.id, prompt });
