// Many watchers of one run in a process of their own, some of whom never read. Says when all are there, then, when the
// run has ended, how many lasting events each of the readers was told.
import { connect } from "node:net";
import { connectApi } from "../src/hub/api-client.ts";
import { createApp } from "../src/app/create-app.ts";
import { createProcessContext } from "../src/app/process-context.ts";
import { protocolVersion } from "../src/protocol/api/control.ts";
import { version } from "../src/version.ts";

const [socket = "", session = "", readers = "0", stalled = "0"] = process.argv.slice(2);
const cwd = process.cwd();
const estate = createProcessContext({
  enclosingSession: () => null,
  startedAt: Date.now(),
  address: () => null,
  connect: (address) => connectApi({ socket: address }, { client: "bench" }),
});
const wish = { ephemeral: false, trust: null, lenient: false, selfCommand: [], warn: console.error };
const api = createApp({ env: process.env, cwd, startedIn: cwd, version, processContext: estate, ...wish });

for (let at = 0; at < Number(stalled); at++) await stall();
const counts = await Promise.all(Array.from({ length: Number(readers) }, watcher));
console.log("ready");
console.log(JSON.stringify(await Promise.all(counts.map((count) => count.told))));
process.exit(0);

/** Resolves once the first event is there. */
async function watcher(): Promise<{ told: Promise<number> }> {
  const events = api.turn.watch({ session, afterSeq: 0, until: "idle" })[Symbol.asyncIterator]();
  const first = await events.next();
  if (first.done === true) throw new Error("there was nothing to watch");
  const rest = async (): Promise<number> => {
    let lasting = 1;
    for (let event = await events.next(); event.done !== true; event = await events.next()) if (!("n" in event.value)) lasting += 1;
    return lasting;
  };
  return { told: rest() };
}

/** Asks to be told everything and reads nothing of it, not even in the kernel's name. */
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
