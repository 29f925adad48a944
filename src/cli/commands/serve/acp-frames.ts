// Serves the Agent Client Protocol to a connection of the hub. The front end is loaded with the first frame. Sessions that the
// client opens use an Api of this process for their directory; turns continue without the client.
import type { Connection, FrameHandler } from "../../../protocol/connection/connection.ts";
import type { HubDeps } from "../../../hub/run-hub.ts";
import type { CommandContext } from "../../parse/command.ts";
import { cacheConnections } from "./connections.ts";

export function serveAcpFrames(connection: Connection, apiFor: HubDeps["apiFor"], ctx: CommandContext): FrameHandler {
  const apis = new Set<ReturnType<HubDeps["apiFor"]>>();
  const connect = (directory: string) => {
    const api = apiFor({ client: "acp", directory, env: null, trust: null });
    apis.add(api);
    return api;
  };
  let reader: Promise<FrameHandler> | null = null;
  const open = async (): Promise<FrameHandler> => {
    const { serveOverFrames } = await import("../../../acp/server/frames.ts");
    const log = (line: string) => ctx.err.write(`${new Date().toISOString()} acp: ${line}\n`);
    const { version, cwd: directory, projectOf } = ctx;
    return serveOverFrames({ version, directory, projectOf, connect: cacheConnections(connect), log }, connection);
  };
  return {
    receive(frame) {
      reader ??= open();
      void reader.then(({ receive }) => receive(frame));
    },
    closed(why) {
      void reader?.then(({ closed }) => closed(why));
      // The client got the error of a failed creation. An error on closing has no reader any more.
      for (const api of apis) void api.then((created) => created.close("finish")).catch(() => {});
    },
  };
}
