// The real npm, git and Python in a turn whose policy names hosts. They reach a named host by name and port, and fail by
// address, by another port, by a redirect, by a name that leads to this machine, and by another server name in TLS.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { lookup } from "node:dns/promises";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

const version = "613.0.1";
const commit = "61300000000000000000000000000000000000aa";

/** The user agents of all requests. */
type Site = { port: number; agents: string[]; stop: () => Promise<void> };
type SiteOptions = { redirectTo?: string; tls?: { key: string; cert: string } };

/** A registry with one package, a repository with one branch, and a page, on one port. */
function startSite({ redirectTo, tls }: SiteOptions = {}): Site {
  const agents: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    ...(tls === undefined ? {} : { tls }),
    fetch: (request) => {
      agents.push(request.headers.get("user-agent") ?? "");
      const { pathname, search } = new URL(request.url);
      if (redirectTo !== undefined) return Response.redirect(`${redirectTo}${pathname}${search}`, 302);
      if (pathname === "/planted") return Response.json({ name: "planted", "dist-tags": { latest: version }, versions: versions() });
      if (pathname === "/planted.git/info/refs") return new Response(`${commit}\trefs/heads/main\n`);
      if (pathname === "/planted.git/HEAD") return new Response("ref: refs/heads/main\n");
      return pathname === "/page" ? new Response(`page ${version}\n`) : new Response("no such file", { status: 404 });
    },
  });
  return { port: server.port!, agents, stop: () => server.stop(true) };
}

function versions() {
  return { [version]: { name: "planted", version, dist: { tarball: "http://localhost/planted.tgz", shasum: "0" } } };
}

/** Each command asks for something that only the site has, and prints it. */
const programs: Record<string, { command: (origin: string) => string; prints: string; agent: RegExp }> = {
  npm: {
    command: (origin) => `npm view planted version --registry ${origin}/ --cache .cache --fetch-retries 0 --update-notifier false`,
    prints: version,
    agent: /^npm\//,
  },
  git: { command: (origin) => `git ls-remote ${origin}/planted.git`, prints: commit, agent: /^git\// },
  python: { command: (origin) => `python3 page.py ${origin}/page`, prints: `page ${version}`, agent: /^Python-urllib\// },
};

const page = `import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())
`;

/** Asks the proxy for a tunnel to localhost, and names another server in the TLS handshake. */
const handshake = `import base64, http.client, os, ssl, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["https_proxy"])
connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=20)
login = base64.b64encode(f"{proxy.username or ''}:{proxy.password or ''}".encode()).decode()
connection.set_tunnel("localhost", int(sys.argv[1]), {"Proxy-Authorization": "Basic " + login} if proxy.username else {})
connection.connect()
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
tls = context.wrap_socket(connection.sock, server_hostname=sys.argv[2])
tls.sendall(b"GET /page HTTP/1.1\\r\\nHost: localhost\\r\\nUser-Agent: handshake\\r\\nConnection: close\\r\\n\\r\\n")
while data := tls.recv(4096):
    print(data.decode())
`;

let skein: TemporaryHome;
let site: Site;
let other: Site;
let redirecting: Site;
let secure: Site;

beforeAll(async () => {
  [site, other] = [startSite(), startSite()];
  redirecting = startSite({ redirectTo: `http://localhost:${other.port}` });
  secure = startSite({ tls: selfSigned() });
  skein = temporaryHome();
  await skein.run(["new", "main", "-m", "ollama/none"]);
  writeFileSync(join(skein.project, "page.py"), page);
  writeFileSync(join(skein.project, "handshake.py"), handshake);
  const { checks } = (await skein.run(["doctor", "--json"])).json() as { checks: { name: string; detail: string }[] };
  // Without a network namespace the sandbox is documented to enforce less, so the refusals below could not be tested.
  expect(checks.find(({ name }) => name === "sandbox")?.detail).toContain("(namespaces)");
}, 60_000);

afterAll(async () => {
  skein[Symbol.dispose]();
  await Promise.all([site, other, redirecting, secure].map(({ stop }) => stop()));
});

function selfSigned(): { key: string; cert: string } {
  const dir = mkdtempSync(join(tmpdir(), "skein-certificate-"));
  const [key, cert] = [join(dir, "key"), join(dir, "cert")];
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", cert];
  const made = Bun.spawnSync(["openssl", ...args], { stderr: "pipe" });
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  const pair = { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  rmSync(dir, { recursive: true });
  return pair;
}

async function exec(command: string, net: string): Promise<{ out: string; err: string }> {
  const { out, err } = await skein.run(["exec", "main", command, "--net", net]);
  return { out, err };
}

/** A name other than localhost whose address is this machine; null if the machine has none. */
async function loopbackName(): Promise<string | null> {
  for (const name of [hostname().toLowerCase(), "localhost.localdomain", "planted.localhost"]) {
    const addresses = await lookup(name, { all: true }).catch(() => []);
    if (addresses.some(({ address }) => address.startsWith("127."))) return name;
  }
  return null;
}

for (const [name, { command, prints, agent }] of Object.entries(programs))
  test(`${name} reaches a named host by name and port, and nothing by address, port, redirect or a name of this machine`, async () => {
    const net = `localhost:${site.port}`;
    const reached = await exec(command(`http://localhost:${site.port}`), net);
    expect({ out: reached.out, err: reached.err }).toEqual({ out: expect.stringContaining(prints), err: expect.any(String) });
    expect(site.agents.at(-1)).toMatch(agent);

    const before = [site.agents.length, other.agents.length];
    // skein's NO_PROXY has 127.0.0.1, so that tools reach their own servers. A tool may clear it.
    const throughProxy = `export NO_PROXY= no_proxy=; ${command(`http://127.0.0.1:${site.port}`)}`;
    const byProxy = await exec(throughProxy, net);
    expect([byProxy.out.includes(prints), byProxy.err]).toEqual([false, expect.stringContaining(`not 127.0.0.1:${site.port}`)]);
    const refused: Record<string, [origin: string, net: string, reason: string]> = {
      "its address": [`http://127.0.0.1:${site.port}`, net, "network is off (policy workspace)"],
      "another port": [`http://localhost:${other.port}`, net, `not localhost:${other.port}`],
      "a redirect": [`http://localhost:${redirecting.port}`, `localhost:${redirecting.port}`, `not localhost:${other.port}`],
    };
    const local = await loopbackName();
    if (local !== null) refused["DNS"] = [`http://${local}:${site.port}`, `${local}:${site.port}`, `${local} resolves to 127.`];
    for (const [title, [origin, hosts, reason]] of Object.entries(refused)) {
      const { out, err } = await exec(command(origin), hosts);
      expect({ title, hasPrinted: out.includes(prints), err }).toEqual({ title, hasPrinted: false, err: expect.stringContaining(reason) });
    }
    expect(redirecting.agents.at(-1)).toMatch(agent);
    expect([site.agents.length, other.agents.length]).toEqual(before);
  }, 120_000);

test("a TLS handshake must have the name of the tunnel's host", async () => {
  const net = `localhost:${secure.port}`;
  const reached = await exec(`git -c http.sslVerify=false ls-remote https://localhost:${secure.port}/planted.git`, net);
  expect(reached.out).toContain(commit);
  expect((await exec(`python3 handshake.py ${secure.port} localhost`, net)).out).toContain(`page ${version}`);
  const before = secure.agents.length;
  const { out, err } = await exec(`python3 handshake.py ${secure.port} other.example`, net);
  expect([out.includes(`page ${version}`), err]).toEqual([false, expect.stringContaining("was closed: its TLS")]);
  expect(secure.agents.length).toBe(before);
}, 120_000);
