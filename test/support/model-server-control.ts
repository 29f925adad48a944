// Controls a model server in another process over HTTP under /_control: its script, faults and recorded requests.
// This file has both the routes and the client.
import type { ModelServer, ModelServerOptions, RecordedRequest } from "../../src/scripted-model/model-server.ts";
import type { ServerFault, Script } from "../../src/scripted-model/script.ts";

type FaultRequest = { fault: ServerFault | null; request?: number };

/** Returns null for any other path. */
export function controlRoute(server: () => ModelServer): (request: Request, path: string) => Promise<Response | null> | null {
  return (request, path) => (path.startsWith("/_control/") ? control(server(), request, path) : null);
}

export type RemoteModelServer = {
  url: string;
  pid: number;
  setScript: (script: Script) => Promise<void>;
  setFault: (fault: ServerFault | null, request?: number) => Promise<void>;
  /** Returns the recorded requests, oldest first. */
  requests: () => Promise<RecordedRequest[]>;
  /** Deletes the recorded requests and restarts their numbering. */
  clear: () => Promise<void>;
  stop: () => Promise<void>;
};

/** Starts a server in its own process, so that it shares no event loop with the caller. */
export async function startRemoteModelServer(script: Script, options: ModelServerOptions = {}): Promise<RemoteModelServer> {
  const main = new URL("./model-server-main.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, main, JSON.stringify({ options })], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const url = await firstLine(child.stdout);
  const put = async (path: string, body: unknown): Promise<void> => {
    await fetch(`${url}/_control/${path}`, { method: "PUT", body: JSON.stringify(body) });
  };
  const remote: RemoteModelServer = {
    url,
    pid: child.pid,
    setScript: (next) => put("script", next),
    setFault: (fault, request) => put("fault", { fault, request } satisfies FaultRequest),
    requests: async () => (await (await fetch(`${url}/_control/requests`)).json()) as RecordedRequest[],
    clear: async () => {
      await fetch(`${url}/_control/requests`, { method: "DELETE" });
    },
    stop: async () => {
      await child.stdin.end();
      await child.exited;
    },
  };
  await remote.setScript(script);
  return remote;
}

async function control(server: ModelServer, request: Request, path: string): Promise<Response | null> {
  const action = `${request.method} ${path.slice("/_control/".length)}`;
  if (action === "GET requests") return Response.json(server.requests);
  if (action === "DELETE requests") server.clear();
  else if (action === "PUT script") server.setScript((await request.json()) as Script);
  else if (action === "PUT fault") {
    const { fault, request: number } = (await request.json()) as FaultRequest;
    server.setFault(fault, number);
  } else return null;
  return new Response(null, { status: 204 });
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  throw new Error("the model server ended before it printed its address");
}
