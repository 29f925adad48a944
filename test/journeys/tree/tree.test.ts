// Works with the tree from the command line. Sessions are created, archived and branched; no node is ever overwritten.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "understood" });
});
afterAll(() => server.stop());

async function conversation(skein: TemporaryHome): Promise<{ id: string; nodes: { id: string; author: string }[] }> {
  for (const words of ["first words", "second words"]) {
    const ran = await skein.run(["run", words, "--session", "main", "-m", wireModels.anthropic, "--json"]);
    expect(ran.code).toBe(0);
  }
  const session = (await skein.run(["show", "main", "--json"])).json() as {
    sessions: { id: string }[];
    nodes: { id: string; author: string }[];
  };
  return { id: session.sessions[0]?.id as string, nodes: session.nodes };
}

const lastRequest = () => JSON.stringify(server.main().at(-1)?.body);

test("list and ps show the message of each branch and turn, and a long name leaves room for it", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const name = "a-long-name-that-used-to-take-the-whole-line";
  for (const words of ["the first words of this tree", "the second words"])
    await skein.run(["run", words, "--session", name, "-m", wireModels.anthropic]);
  await skein.run(["run", "words of the fork", "-c", "--fork"]);
  const { out: list } = await skein.run(["list"]);
  expect(list).toMatch(/^\* +[0-9a-f]{8} .*  words of the fork$/m);
  expect(list).toMatch(/^ +a-long-name\S* [0-9a-f]{8} .*  the second words$/m);
  const { out: turns } = await skein.run(["ps", "--all"]);
  for (const words of ["the first words of this", "the second words", "words of the fork"]) expect(turns).toContain(words);
  await skein.run(["undo"]);
  expect((await skein.run(["list"])).out).toMatch(/^\* .*  the second words$/m);
  const sessions = (await skein.run(["list", "--json"])).json() as unknown as { latest_prompt: string; task: string }[];
  expect(sessions.map(({ latest_prompt: prompt, task }) => [prompt, task])).toEqual([
    ["the second words", "the first words of this tree"],
    ["the second words", "the first words of this tree"],
  ]);
});

test("fork branches a session at its end or at a node, and the branch becomes the current session", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const { nodes } = await conversation(skein);
  const forked = await skein.run(["fork", "--name", "other"]);
  expect([forked.code, forked.out]).toEqual([0, "forked main as other, which is now the current session\n"]);
  expect(forked.err).toBe("back to the old one: skein use main\n");
  const atNode = await skein.run(["fork", "main", "--at", nodes[1]!.id.slice(-8), "--json"]);
  expect(atNode.json()).toMatchObject({ tip: nodes[1]!.id });
  expect((await skein.run(["run", "words of the branch", "-c", "--json"])).json()["session_id"]).toBe(atNode.json()["id"]);
  expect(lastRequest()).not.toContain("second words");
  const wrong = await skein.run(["fork", "main", "--at", "00000000"]);
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('there is no node "00000000"')]);
});

describe("run on the tree", () => {
  test("run --at an old node makes a branch in a new session, and the old session keeps its tip", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const { id, nodes } = await conversation(skein);
    const answer = nodes[1]?.id as string;
    const ran = await skein.run(["run", "another way", "--at", answer.slice(-8), "--json"]);
    expect(ran.json()["status"]).toBe("ok");
    expect(ran.json()["session_id"]).not.toBe(id);
    expect(lastRequest()).toContain("first words");
    expect(lastRequest()).toContain("another way");
    expect(lastRequest()).not.toContain("second words");
    const view = (await skein.run(["show", "main", "--json"])).json() as {
      sessions: { id: string; tip: string }[];
      nodes: { parent_id: string }[];
    };
    expect(view.sessions.find((session) => session.id === id)?.tip).toBe(nodes.at(-1)?.id as string);
    expect(view.nodes.filter((node) => node.parent_id === answer)).toHaveLength(2);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("run --fork copies nothing and continues from the same node", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const { nodes } = await conversation(skein);
    const ran = await skein.run(["run", "third words", "--session", "main", "--fork", "--json"]);
    expect(ran.code).toBe(0);
    const view = (await skein.run(["show", "main", "--json"])).json() as { nodes: unknown[]; sessions: unknown[] };
    expect(view.nodes).toHaveLength(nodes.length + 2);
    expect(view.sessions).toHaveLength(2);
    expect(lastRequest()).toContain("second words");
  });

  test("run --at an old node needs no default model, because the branch uses the model of its session", async () => {
    using skein = temporaryHome();
    const script = `${skein.root}/script.json`;
    await Bun.write(script, JSON.stringify({ steps: [{ text: "one" }, { text: "two" }] }));
    const first = (await skein.run(["run", "first", "-m", `replay/${script}`, "--json"])).json();
    const branch = await skein.run(["run", "second", "--at", String(first["node_id"]), "--json"]);
    expect(branch.json()).toMatchObject({ status: "ok", result: "two", model: first["model"] });
  });

  test("run refuses --fork without a session, an unknown node and an unknown session", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    expect((await skein.run(["run", "x", "--fork"])).code).toBe(2);
    await conversation(skein);
    expect((await skein.run(["run", "x", "--at", "00000000"])).code).toBe(2);
    expect((await skein.run(["run", "x", "--session", "nobody", "--fork"])).code).toBe(2);
  });
});

describe("sessions", () => {
  test("sessions are created, listed, used, renamed, archived and restored, by name and by the end of their id", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const { id } = await conversation(skein);
    expect((await skein.run(["new", "idea", "-m", wireModels.anthropic])).out).toContain("idea");
    const names = async (...flags: string[]) =>
      ((await skein.run(["list", "--json", ...flags])).json() as unknown as { name: string }[]).map((session) => session.name);
    expect((await names()).sort()).toEqual(["idea", "main"]);
    expect((await skein.run(["use", id.slice(-8)])).out).toBe("using main\n");
    expect((await skein.run(["run", "more", "--continue", "--json"])).json()["session_id"]).toBe(id);
    expect((await skein.run(["rename", "idea", "plan"])).code).toBe(0);
    expect((await skein.run(["delete", "plan"])).out).toContain("skein restore");
    expect(await names()).toEqual(["main"]);
    expect(await names("--archived")).toEqual(["plan"]);
    expect((await skein.run(["restore", "plan"])).code).toBe(0);
    expect((await skein.run(["restore", "plan"])).code).toBe(2);
    expect((await names()).sort()).toEqual(["main", "plan"]);
    expect((await skein.run(["list"])).out).toContain("more");
  });

  test("a message that was added to a session is sent with the next turn", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await conversation(skein);
    expect((await skein.run(["add", "main", "by the way: blue"])).code).toBe(0);
    await skein.run(["run", "and now?", "--session", "main"]);
    expect(lastRequest()).toContain("by the way: blue");
    expect((await skein.run(["verify"])).code).toBe(0);
  });
});

test("context shows exactly the request that is sent next", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const { nodes } = await conversation(skein);
  const body = (await skein.run(["context", "main", nodes[0]?.id as string, "--body"])).out.trim();
  server.clear();
  await skein.run(["run", "first words", "-m", wireModels.anthropic]);
  expect(body).toBe(server.main()[0]?.text as string);
  const text = (await skein.run(["context", "main"])).out;
  expect(text).toContain("second words");
  expect(text).toMatch(/about \d+ tokens/);
  const record = (await skein.run(["context", "main", "--json"])).json();
  expect(record["tokens"]).toMatchObject({ system: expect.any(Number) });
});

test("context needs no key", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await conversation(skein);
  const ran = await skein.run(["context", "main"], { env: { ANTHROPIC_API_KEY: "" } });
  expect({ code: ran.code, hasMessage: ran.out.includes("second words") }).toEqual({ code: 0, hasMessage: true });
});

describe("exec", () => {
  test("exec runs a command and exits with its code, and the next request contains its output", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await conversation(skein);
    const ran = await skein.run(["exec", "main", "echo from the shell; pwd; exit 3"]);
    expect(ran).toMatchObject({ code: 3, out: expect.stringContaining("from the shell") });
    expect((await skein.run(["exec", "main", "true"])).code).toBe(0);
    expect((await skein.run(["exec", "main", "sleep 60", "--timeout", "1"])).code).toBe(124);
    await skein.run(["run", "what was printed?", "--session", "main"]);
    expect(lastRequest()).toContain("from the shell");
    const node = (await skein.run(["exec", "main", "echo again", "--json"])).json() as {
      parts: { handle: { source: string; metadata: Record<string, unknown> } }[];
    };
    expect(node.parts[0]?.handle).toMatchObject({ source: "bash", metadata: { command: "echo again", exit_code: 0 } });
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("exec needs no key", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await conversation(skein);
    expect((await skein.run(["exec", "main", "echo hi"], { env: { ANTHROPIC_API_KEY: "" } })).out).toBe("hi\n");
  });
});

describe("graft", () => {
  test("graft adds a branch's conclusion to another session as one node, and branching before it leaves it out", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const { nodes } = await conversation(skein);
    const branch = (await skein.run(["run", "try it in red", "--at", nodes[1]?.id as string, "--json"])).json();
    expect(branch["status"]).toBe("ok");
    const graft = (await skein.run(["graft", String(branch["session_id"]), "--into", "main", "--json"])).json();
    expect(graft).toMatchObject({ author: "note", note: "graft", grafted_from: { session_id: branch["session_id"] } });
    await skein.run(["run", "and now?", "--session", "main"]);
    expect(lastRequest()).toContain("try it in red");
    expect(lastRequest()).toContain("understood");
    await skein.run(["run", "without it?", "--at", nodes.at(-1)?.id as string]);
    expect(lastRequest()).not.toContain("try it in red");
    const itself = await skein.run(["graft", "main", "--into", "main"]);
    expect([itself.code, itself.err]).toEqual([2, expect.stringContaining("skein graft <from> --into <to>")]);
    expect((await skein.run(["verify"])).code).toBe(0);
  });
});

describe("handles", () => {
  test("an added file, web page and session are copied, and the next request contains the copy", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await conversation(skein);
    await Bun.write(`${skein.project}/it's here.txt`, "the file as it was");
    expect((await skein.run(["add", "main", "--file", "it's here.txt"])).code).toBe(0);
    await Bun.write(`${skein.project}/it's here.txt`, "changed since");
    const page = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("the page as it was") });
    expect((await skein.run(["add", "main", "--http", `http://127.0.0.1:${page.port}/a`, "--net", "on"])).code).toBe(0);
    await page.stop(true);
    await skein.run(["run", "a word", "--session", "other", "-m", wireModels.anthropic]);
    expect((await skein.run(["add", "main", "--from", "other", "--json"])).json()).toMatchObject({
      author: "user",
      parts: [{ kind: "handle" }],
    });
    await skein.run(["run", "go on", "--session", "main"]);
    for (const words of ["the file as it was", "the page as it was", "[session other]"]) expect(lastRequest()).toContain(words);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("add of an unreadable file or page adds nothing and prints the reason", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const { nodes } = await conversation(skein);
    const missing = await skein.run(["add", "main", "--file", "nothing.txt"]);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("No such file") });
    const unreachable = await skein.run(["add", "main", "--http", "http://127.0.0.1:9/", "--net", "on"]);
    expect(unreachable.code).toBe(1);
    expect(((await skein.run(["show", "main", "--json"])).json()["nodes"] as unknown[]).length).toBe(nodes.length);
  });
});
