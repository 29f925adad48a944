// Many watchers of one run in one process; some of them never read. Prints "ready" when all are connected, and after
// the run the number of durable events that each reader got.
import { connect } from "node:net";
import { connectApi } from "../src/hub/api-client.ts";
import { createApp } from "../src/app/create-app.ts";
import { createProcessContext } from "../src/app/process-context.ts";
import { protocolVersion } from "../src/protocol/api/control.ts";
import { version } from "../src/version.ts";

const [socket = "", session = "", readers = "0", stalled = "0"] = process.argv.slice(2);
const cwd = process.cwd();
const processContext = createProcessContext({
  enclosingSession: () => null,
  startedAt: Date.now(),
  address: () => null,
  connect: (address) => connectApi({ socket: address }, { client: "bench" }),
});
const options = { ephemeral: false, trust: null, lenient: false, selfCommand: [], warn: console.error };
const api = createApp({ env: process.env, cwd, startedIn: cwd, version, processContext, ...options });

for (let index = 0; index < Number(stalled); index++) await stall();
const counts = await Promise.all(Array.from({ length: Number(readers) }, watcher));
console.log("ready");
console.log(JSON.stringify(await Promise.all(counts.map((count) => count.durableEvents))));
process.exit(0);

/** Resolves when the first event has arrived. */
async function watcher(): Promise<{ durableEvents: Promise<number> }> {
  const events = api.turn.watch({ session, afterSeq: 0, until: "idle" })[Symbol.asyncIterator]();
  const first = await events.next();
  if (first.done === true) throw new Error("there was nothing to watch");
  const countRest = async (): Promise<number> => {
    let count = 1;
    for (let event = await events.next(); event.done !== true; event = await events.next()) if (!("n" in event.value)) count += 1;
    return count;
  };
  return { durableEvents: countRest() };
}

/** Subscribes to every event and never reads from the socket. */
function stall(): Promise<void> {
  const frames = [
    { jsonrpc: "2.0", id: 1, method: "hub.hello", params: { protocol: protocolVersion, client: "bench" } },
    { jsonrpc: "2.0", id: 2, method: "turn.watch", params: { session, after_seq: 0, until: "idle" } },
  ];
  return new Promise((resolve, reject) => {
    const line = connect(socket, () => line.write(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(""), () => resolve()));
    line.on("error", reject);
    line.pause();
  });
}
