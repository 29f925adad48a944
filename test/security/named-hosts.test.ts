// A turn whose policy names hosts: its tools reach those by name and port, through the real sandbox, and nothing else. The
// servers are on this machine. Their addresses are reachable only because the user named them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { lookup } from "node:dns/promises";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { temporaryHome, type TemporaryHome, vendorEnv } from "../support/temporary-home.ts";

type Site = { port: number; hosts: (string | null)[]; stop: () => Promise<void> };

/** Answers with its name, and redirects `/to/<url>`. */
function startSite(name: string): Site {
  const hosts: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      hosts.push(request.headers.get("host"));
      const target = new URL(request.url).pathname.split("/to/")[1];
      return target === undefined ? new Response(`this is ${name}\n`) : Response.redirect(decodeURIComponent(target), 302);
    },
  });
  return { port: server.port!, hosts, stop: () => server.stop(true) };
}

let [site, other]: Site[] = [];
let skein: TemporaryHome;
/** False on a machine without a network namespace. The other tiers are documented to enforce less. */
let isEnforced = false;

beforeAll(async () => {
  [site, other] = [startSite("the site"), startSite("another site")];
  skein = temporaryHome();
  await skein.run(["new", "main", "-m", "ollama/none"]);
  const { checks } = (await skein.run(["doctor", "--json"])).json() as { checks: { name: string; detail: string }[] };
  isEnforced = checks.find(({ name }) => name === "sandbox")!.detail.includes("(namespaces)");
}, 60_000);

afterAll(async () => {
  skein[Symbol.dispose]();
  await site!.stop();
  await other!.stop();
});

async function exec(command: string, net: string): Promise<{ out: string; err: string; code: number }> {
  const { out, err, code } = await skein.run(["exec", "main", command, "--net", net]);
  return { out, err, code };
}

const curl = "curl -sS --max-time 20";

describe("tools of a turn with named hosts", () => {
  test("a named host is reached, and its server sees one ordinary request", async () => {
    const { out } = await exec(`${curl} http://localhost:${site!.port}/`, `localhost:${site!.port}`);
    expect(out).toContain("this is the site");
    expect(site!.hosts.at(-1)).toBe(`localhost:${site!.port}`);
  }, 60_000);

  test("no other host, address, port, redirect or Host header leads anywhere, and the user sees why", async () => {
    if (!isEnforced) return;
    const [port, otherPort] = [site!.port, other!.port];
    const net = `localhost:${port},api.example.com`;
    const before = [site!.hosts.length, other!.hosts.length];
    const attempts: Record<string, string> = {
      "another port": `${curl} http://localhost:${otherPort}/`,
      "its address": `${curl} --noproxy "" http://127.0.0.1:${port}/`,
      "its address in hexadecimal digits": `${curl} --noproxy "" http://0x7f000001:${port}/`,
      "its address without the proxy": `${curl} --noproxy "*" http://127.0.0.1:${port}/`,
      "its name without the proxy": `${curl} --noproxy "*" http://localhost:${port}/`,
      "a tunnel to its address": `${curl} -p --noproxy "" http://127.0.0.1:${port}/`,
      "another Host header": `${curl} -H "Host: api.example.com" http://localhost:${port}/`,
      "another Host header in a tunnel": `${curl} -p -H "Host: api.example.com" http://localhost:${port}/`,
      "another server name in TLS": `${curl} -k --connect-to api.other.example:443:localhost:${port} https://api.other.example/`,
    };
    for (const [name, command] of Object.entries(attempts)) {
      const { out, err } = await exec(command, net);
      expect({ name, out: out.includes("this is") ? out : "" }).toEqual({ name, out: "" });
      if (!name.includes("without the proxy"))
        expect({ name, err }).toEqual({ name, err: expect.stringMatching(/can be reached, not |was closed: its TLS/) });
    }
    expect([site!.hosts.length, other!.hosts.length]).toEqual(before as [number, number]);
    const redirected = await exec(`${curl} -L http://localhost:${port}/to/${encodeURIComponent(`http://localhost:${otherPort}/`)}`, net);
    expect(redirected.out).not.toContain("this is");
    expect(redirected.err).toContain(`not localhost:${otherPort}`);
    expect(other!.hosts.length).toBe(before[1]!);
  }, 120_000);

  test("a name whose address in DNS is this machine is refused unless the address is named too", async () => {
    const name = hostname().toLowerCase();
    const addresses = await lookup(name, { all: true }).catch(() => []);
    // The host name of some machines has no address, or a public one.
    if (!isEnforced || !addresses.some(({ address }) => address.startsWith("127."))) return;
    const url = `http://${name}:${site!.port}/`;
    const refused = await exec(`${curl} ${url}`, `${name}:${site!.port}`);
    expect([refused.out.includes("this is"), refused.err]).toEqual([false, expect.stringContaining(`${name} resolves to 127.`)]);
    const named = [
      `${name}:${site!.port}`,
      ...addresses.map(({ address }) => `${address.includes(":") ? `[${address}]` : address}:${site!.port}`),
    ];
    expect((await exec(`${curl} ${url}`, named.join(","))).out).toContain("this is the site");
  }, 60_000);

  test("a project's config can't name hosts, and can leave out some of the user's", async () => {
    const config = (net: string[]) => {
      mkdirSync(join(skein.project, ".skein"), { recursive: true });
      writeFileSync(join(skein.project, ".skein", "config.jsonc"), JSON.stringify({ net_hosts: net }));
    };
    const hosts = async () => (await skein.run(["config", "get", "net_hosts", "--json"])).out;
    config([`localhost:${site!.port}`]);
    expect(await hosts()).not.toContain("localhost");
    await skein.run(["config", "set", "net_hosts", JSON.stringify(["*.example.com", "x.org"])]);
    config(["a.example.com"]);
    expect(await hosts()).toContain("a.example.com");
    config(["a.example.com", "y.org"]);
    expect(await hosts()).not.toContain("y.org");
    config([]);
  }, 60_000);
});

describe("the program of another agent", () => {
  for (const tier of ["namespaces", "landlock"]) {
    test(`it reaches its vendor and the named hosts in tier ${tier}, and nothing else`, async () => {
      if (!isEnforced) return;
      const server = startModelServer({ steps: [], final: "fine" });
      using home = temporaryHome({ ...vendorEnv(server.url), SKEIN_SANDBOX_BEST: tier });
      const [program, log] = [join(home.root, "agent"), join(home.project, "log")];
      const gateway = `curl -s -o /dev/null -w "gateway %{http_code}" "$ANTHROPIC_BASE_URL"/v1/other`;
      const commands = [`${curl} http://localhost:${site!.port}/`, `${curl} http://localhost:${other!.port}/`, gateway];
      writeFileSync(program, `#!/bin/sh\n{ ${commands.join("; ")}; } > ${log} 2>&1\ncat ${log}\n`);
      chmodSync(program, 0o755);
      expect((await home.run(["config", "set", "agents.mine.command", program])).code).toBe(0);
      const before = other!.hosts.length;
      const ran = await home.run(["run", "hi", "-a", "mine", "--net", `localhost:${site!.port}`, "--json"]);
      const { result: text, enforced } = ran.json() as { result: string; enforced: { net: string; tier: string; missing: string[] } };
      expect({ text, err: ran.err }).toEqual({ text: expect.stringContaining("this is the site"), err: expect.any(String) });
      expect(text).toContain("gateway 401");
      expect(text).not.toContain("another site");
      expect([other!.hosts.length, enforced.net, enforced.tier]).toEqual([before, "hosts", tier]);
      expect(enforced.missing.includes("other hosts at the port of skein's proxy")).toBe(tier === "landlock");
      expect(ran.err).toContain(`can be reached, not localhost:${other!.port}`);
      await server.stop();
    }, 60_000);
  }
});
