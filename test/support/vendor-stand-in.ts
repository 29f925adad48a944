// Stands in for the vendors whose sign-ins agents use: a proxy of the person's own that leads every host to one TLS
// server here, with certificates made for the occasion, and a scripted model behind it. Needs openssl.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import type { Script } from "../../src/scripted-model/script.ts";

export type StandInRequest = { method: string; host: string; path: string; authorization: string; body: string };

export type VendorStandIn = {
  /** What a person's environment holds to get here. */
  env: Record<string, string>;
  /** Hosts that a tunnel was asked for. */
  asked: string[];
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
  const asked: string[] = [];
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
  const proxy = createServer({ allowHalfOpen: true }, (socket) => lead(socket, server.port!, asked, open));
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const port = (proxy.address() as { port: number }).port;
  return {
    env: { HTTPS_PROXY: `http://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: authority },
    asked,
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
  const at = (name: string) => join(folder, name);
  const make = (...args: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { stderr: "pipe" });
    if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr.toString()}`);
  };
  writeFileSync(at("names"), `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}`);
  const fresh = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=skein test"];
  make("req", "-x509", ...fresh, "-keyout", at("ca.key"), "-out", at("ca.pem"), "-days", "2");
  make("req", ...fresh, "-keyout", at("key"), "-out", at("request"));
  make(
    "x509",
    "-req",
    "-in",
    at("request"),
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-out",
    at("cert"),
    "-days",
    "2",
    "-extfile",
    at("names"),
  );
  return { cert: readFileSync(at("cert"), "utf8"), key: readFileSync(at("key"), "utf8"), authority: at("ca.pem") };
}

function lead(socket: Socket, port: number, asked: string[], open: Set<Socket>): void {
  open.add(socket);
  socket.on("close", () => open.delete(socket));
  socket.on("error", () => socket.destroy());
  socket.once("data", (chunk) => {
    asked.push(/^CONNECT (\S+):443 /.exec(chunk.toString())?.[1] ?? "nobody");
    const inner = connect({ host: "127.0.0.1", port });
    inner.on("error", () => socket.destroy());
    inner.once("connect", () => {
      socket.write("HTTP/1.1 200 fine\r\n\r\n");
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

/** Renewals, what each CLI asks before its first request, and the model. */
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
    const said = await (await ask(`/v1beta/models/${name}:streamGenerateContent?alt=sse&key=x`, JSON.stringify(request))).text();
    const wrapped = said.replaceAll(/^data: (\{.*)$/gm, (_, event: string) => `data: {"response":${event}}`);
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
