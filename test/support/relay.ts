// Passes connections on between network namespaces: a unix socket is a file, so it can be reached from all of them.
// The program `relay.ts <address> <unix socket>` listens on a free port of the address, prints the port, and ends with its stdin.
import { connect, createServer, type NetConnectOpts, type Server } from "node:net";

export type Relay = { port: number; close: () => void };

type Listen = { path: string } | { host: string; port: number };

export async function startRelay(listen: Listen, target: NetConnectOpts): Promise<Relay> {
  const server: Server = createServer((from) => {
    const to = connect(target);
    from.on("error", () => to.destroy()).on("close", () => to.destroy());
    to.on("error", () => from.destroy()).on("close", () => from.destroy());
    from.pipe(to).pipe(from);
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(listen, resolve));
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, close: () => void server.close() };
}

async function main([host = "127.0.0.1", path = ""]: string[]): Promise<void> {
  const { port } = await startRelay({ host, port: 0 }, { path });
  process.stdout.write(`${port}\n`);
  for await (const _ of Bun.stdin.stream()) continue;
  process.exit(0);
}

if (import.meta.main) void main(process.argv.slice(2));
