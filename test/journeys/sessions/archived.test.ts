// An archived session takes no turn and no message until it is restored, whichever front end asks.
import { expect, test } from "bun:test";
import { connectToHub, startHub } from "../../support/hub-client.ts";
import { mcpClient, serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { startInPty } from "../../support/pty.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;
const answer = { steps: [], final: "an answer" };

/** Archives a session with one turn. Returns its id. */
async function archiveSession(skein: TemporaryHome): Promise<string> {
  const { session_id: id } = (await skein.run(["run", "first", "--session", "old", "-m", model, "--json"])).json();
  expect((await skein.run(["delete", "old"])).code).toBe(0);
  return id as string;
}

test("every command that would add to an archived session names the command that restores it, and adds nothing", async () => {
  await using server = serverWith(answer);
  using skein = temporaryHome(vendorEnv(server.url));
  const id = await archiveSession(skein);
  const commands = [
    ["run", "more", "--session", "old"],
    ["run", "more", "--resume", id.slice(-8), "-m", wireModels.gemini],
    ["run", "--resume", "old"],
    ["chat", "old"],
    ["add", "old", "a message"],
    ["exec", "old", "echo hello"],
    ["use", "old"],
  ];
  for (const command of commands) {
    const { code, out, err } = await skein.run(command, { stdin: "" });
    expect({ command, code, out }).toEqual({ command, code: 2, out: "" });
    expect(err).toContain(`skein restore ${id.slice(-8)}`);
  }
  expect(server.main()).toHaveLength(1);
  const nothing = await skein.run(["run", "more", "--continue", "-m", model]);
  expect(nothing.err).toContain("to continue");
  const [listed] = (await skein.run(["list", "--archived", "--json"])).json() as unknown as { session_id?: string; id?: string }[];
  expect(JSON.stringify(listed)).toContain(id);
  expect((await skein.run(["restore", "old"])).code).toBe(0);
  expect((await skein.run(["run", "more", "--session", "old"])).out).toContain("an answer");
});

test("an archived session can be forked, and a second delete keeps its time of archiving", async () => {
  await using server = serverWith(answer);
  using skein = temporaryHome(vendorEnv(server.url));
  await archiveSession(skein);
  const archivedAt = async () =>
    ((await skein.run(["list", "--archived", "--json"])).json() as unknown as { archived_at: string }[])[0]?.archived_at;
  const first = await archivedAt();
  expect((await skein.run(["delete", "old"])).code).toBe(0);
  expect(await archivedAt()).toBe(first);
  const forked = await skein.run(["run", "more", "--session", "old", "--fork", "-m", model, "--json"]);
  expect(forked.json()).toMatchObject({ status: "ok", result: "an answer" });
  expect(await archivedAt()).toBe(first);
});

test("a client of the hub and a client over MCP get the same refusal", async () => {
  await using server = serverWith(answer);
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const id = await archiveSession(skein);
  await using hub = await startHub(skein);
  const client = await connectToHub("unix", hub);
  const restore = `skein restore ${id.slice(-8)}`;
  const { error } = await client.follow("turn.start", { session: id, prompt: "more" });
  expect(error?.data).toMatchObject({ code: "session-archived", hint: expect.stringContaining(restore) });
  const added = await client.ask("node.add", { session: id, text: "more" });
  expect(added.error?.data?.hint).toContain(restore);
  client.close();
  await using mcp = await mcpClient(skein);
  const consulted = await mcp.call("consult_with", { model, question: "more", session_id: "old" });
  expect(consulted).toMatchObject({ isError: true, text: expect.stringContaining(restore) });
  expect(server.main()).toHaveLength(1);
});

test("the screen does not open an archived session, and says how to restore it", async () => {
  await using server = serverWith(answer);
  using skein = temporaryHome(vendorEnv(server.url));
  const id = await archiveSession(skein);
  await using screen = startInPty(skein, ["tui", "old"]);
  await screen.until(`skein restore ${id.slice(-8)}`);
  expect(await screen.exited).toBe(2);
});
