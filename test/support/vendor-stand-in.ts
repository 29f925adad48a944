// Plays the vendors whose sign-ins agents use. A proxy leads every host to one local TLS server with temporary certificates,
// which answers with a scripted model. Needs openssl.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import type { Script } from "../../src/scripted-model/script.ts";

export type StandInRequest = { method: string; host: string; path: string; authorization: string; body: string };

export type VendorStandIn = {
  /** Variables that lead a CLI to this server. */
  env: Record<string, string>;
  /** Hosts of the requested tunnels. */
  hosts: string[];
  requests: StandInRequest[];
  close: () => Promise<void>;
};

const names = ["*.anthropic.com", "platform.claude.com", "chatgpt.com", "*.chatgpt.com", "*.openai.com", "*.googleapis.com"];

/** Without a script every request is refused with 401. */
export async function startVendorStandIn(script: Script | null, idToken = ""): Promise<VendorStandIn> {
  const folder = mkdtempSync(join(tmpdir(), "skein-stand-"));
  const { cert, key, authority } = makeCertificates(folder);
  const model = startModelServer(script ?? { steps: [], final: "" });
  const requests: StandInRequest[] = [];
  const hosts: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    tls: { cert, key },
    fetch: async (request) => {
      const { host, pathname: path } = new URL(request.url);
      const body = await bodyOf(request);
      requests.push({ method: request.method, host, path, authorization: request.headers.get("authorization") ?? "", body });
      return script === null ? refusal() : answer(model.url, path, request.method, body, idToken);
    },
  });
  const open = new Set<Socket>();
  const proxy = createServer({ allowHalfOpen: true }, (socket) => tunnel(socket, server.port!, hosts, open));
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const port = (proxy.address() as { port: number }).port;
  return {
    env: { HTTPS_PROXY: `http://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: authority },
    hosts,
    requests,
    close: async () => {
      proxy.close();
      for (const socket of open) socket.destroy();
      await server.stop(true);
      await model.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function makeCertificates(folder: string): { cert: string; key: string; authority: string } {
  const pathOf = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { stderr: "pipe" });
    if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr.toString()}`);
  };
  writeFileSync(pathOf("names"), `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`);
  const newKey = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=skein test"];
  openssl("req", "-x509", ...newKey, "-keyout", pathOf("ca.key"), "-out", pathOf("ca.pem"), "-days", "2");
  openssl("req", ...newKey, "-keyout", pathOf("key"), "-out", pathOf("request"));
  openssl(
    "x509",
    "-req",
    "-in",
    pathOf("request"),
    "-CA",
    pathOf("ca.pem"),
    "-CAkey",
    pathOf("ca.key"),
    "-CAcreateserial",
    "-out",
    pathOf("cert"),
    "-days",
    "2",
    "-extfile",
    pathOf("names"),
  );
  return { cert: readFileSync(pathOf("cert"), "utf8"), key: readFileSync(pathOf("key"), "utf8"), authority: pathOf("ca.pem") };
}

function tunnel(socket: Socket, port: number, hosts: string[], open: Set<Socket>): void {
  open.add(socket);
  socket.on("close", () => open.delete(socket));
  socket.on("error", () => socket.destroy());
  socket.once("data", (chunk) => {
    hosts.push(/^CONNECT (\S+):443 /.exec(chunk.toString())?.[1] ?? "nobody");
    const inner = connect({ host: "127.0.0.1", port });
    inner.on("error", () => socket.destroy());
    inner.once("connect", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(inner).pipe(socket);
    });
  });
}

async function bodyOf(request: Request): Promise<string> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  return new TextDecoder().decode(request.headers.get("content-encoding") === "zstd" ? Bun.zstdDecompressSync(bytes) : bytes);
}

function refusal(): Response {
  return Response.json({ type: "error", error: { type: "authentication_error", code: 401, message: "not you" } }, { status: 401 });
}

/** Answers renewals of a sign-in, the requests of each CLI at its start, and requests to the model. */
async function answer(model: string, path: string, method: string, body: string, idToken: string): Promise<Response> {
  const ask = (to: string, text: string) =>
    fetch(model + to, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer x", "x-api-key": "x" },
      body: text,
    });
  if (path.endsWith("/token"))
    return Response.json({
      access_token: "renewed",
      refresh_token: "renewed",
      id_token: idToken,
      expires_in: 28_800,
      token_type: "Bearer",
    });
  if (path.endsWith("/tokeninfo")) return Response.json({ expires_in: 3000, scope: "x" });
  if (path === "/v1/messages") return ask(path, body);
  if (path.endsWith("/codex/responses") && method === "POST") return ask("/v1/responses", body);
  if (path.endsWith("/accounts/check"))
    return Response.json({ accounts: [account], default_account_id: account.id, account_ordering: [account.id] });
  if (path.endsWith(":loadCodeAssist"))
    return Response.json({ currentTier: tier, allowedTiers: [{ ...tier, isDefault: true }], cloudaicompanionProject: "p1" });
  if (path.endsWith(":streamGenerateContent")) {
    const { model: name, request } = JSON.parse(body) as { model: string; request: unknown };
    const stream = await (await ask(`/v1beta/models/${name}:streamGenerateContent?alt=sse&key=x`, JSON.stringify(request))).text();
    const wrapped = stream.replaceAll(/^data: (\{.*)$/gm, (_, event: string) => `data: {"response":${event}}`);
    return new Response(wrapped, { headers: { "content-type": "text/event-stream" } });
  }
  return Response.json({}, { status: 404 });
}

const account = {
  id: "acct-1",
  name: "x",
  structure: "personal",
  plan_type: "plus",
  is_deactivated: false,
  can_access_with_session: true,
  is_fedramp_compliant_workspace: false,
  workspace_backend_origin: "https://chatgpt.com",
  account_routing_override: "NO_CONSTRAINT",
};
const tier = { id: "free-tier", name: "free" };
