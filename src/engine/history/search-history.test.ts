// Searching conversations and commits, over a real store.
import { describe, expect, test } from "bun:test";
import type { Commit, HistorySearchParams } from "../../protocol/tree/history.ts";
import { redactor } from "../../kit/text/redact.ts";
import { createTestEngine, node, ok, text, type TakeTurn } from "../fixtures/engine-with.ts";
import { rankCommits } from "./rank-commits.ts";

const commit = (id: string, subject: string, more: Partial<Commit> = {}): Commit => ({
  id,
  subject,
  at: Date.now() - 3 * 86_400_000,
  author: "Ada",
  body: "",
  files: [],
  ...more,
});

/** An agent that repeats the prompt in its answer. */
const echo: TakeTurn = async function* (input) {
  const prompt = input.path.at(-1)?.parts[0];
  yield node(text(prompt?.kind === "text" ? `answer to ${prompt.text}` : ""));
  yield ok;
};

async function engineWithHistory(commits: Commit[] = [], note: string | null = null) {
  const redact = redactor({ home: "/home/ada", secrets: ["hunter2hunter2"] });
  const engine = await createTestEngine(echo, {
    history: { commits: async () => ({ commits, note }), redact, promptWithBrief: async (_, prompt) => prompt },
  });
  const defaults = {
    directory: engine.root,
    limit: 40,
    kinds: ["conversation", "commit"],
    asker: null,
  } satisfies Partial<HistorySearchParams>;
  const search = (query: string, change: Partial<HistorySearchParams> = {}) => engine.api.history.search({ ...defaults, query, ...change });
  return { ...engine, search };
}

describe("a search in a project's history", () => {
  test("a search finds messages and commits, with the ids of both", async () => {
    const { search, run, session, store } = await engineWithHistory([commit("c1", "Leases have an epoch", { files: ["src/lease.ts"] })]);
    await run({ prompt: "why does a lease need an epoch" });
    const { hits, hidden, notes } = await search("lease epoch");
    expect({ hidden, notes }).toEqual({ hidden: 0, notes: [] });
    expect(hits.map(({ kind, by }) => `${kind} ${by}`).toSorted()).toEqual(["commit Ada", "conversation agent", "conversation user"]);
    const userHit = hits.find(({ by }) => by === "user")!;
    expect(userHit).toMatchObject({ session: { id: session.id }, when: "just now", text: "why does a lease need an epoch" });
    expect((await store.node(userHit.id))?.author).toBe("user");
    expect(hits.find(({ kind }) => kind === "commit")).toMatchObject({ id: "c1", when: "3 days ago", files: ["src/lease.ts"] });
  });

  test("a search with several queries ranks a hit of two queries before a hit of one", async () => {
    const { search, run } = await engineWithHistory([
      commit("c1", "apples"),
      commit("c2", "pears and apples"),
      commit("c3", "pears"),
      commit("c4", "none"),
    ]);
    await run({ prompt: "apples fell" });
    const { hits } = await search("apples; pears ;; apples");
    expect(hits[0]).toMatchObject({ id: "c2", queries: ["apples", "pears"] });
    expect(hits.map(({ id }) => id)).not.toContain("c4");
    expect((await search("apples", { kinds: ["conversation"] })).hits.every(({ kind }) => kind === "conversation")).toBe(true);
    expect((await search("apples", { kinds: ["commit"] })).hits.every(({ kind }) => kind === "commit")).toBe(true);
    await expect(search(" ; ;!")).rejects.toThrow("no word");
  });

  test("a search falls back to some of the words if nothing contains them all", async () => {
    const { search, run } = await engineWithHistory([commit("c1", "The cache is warm")]);
    await run({ prompt: "how warm is it" });
    expect((await search("warm zebra cache")).hits.map(({ kind }) => kind).toSorted()).toEqual(["commit", "conversation", "conversation"]);
  });

  test("hits contain no secret, also if the excerpt begins in the middle of one", async () => {
    const key = `sk-ant-${"a1b2".repeat(12)}`;
    const { search, run } = await engineWithHistory([commit("c1", `rotate ${key}`, { author: "Ada <ada@example.org>" })]);
    await run({ prompt: `${"filler ".repeat(100)}${key} rotate hunter2hunter2 ${"more ".repeat(200)}` });
    const { hits } = await search("rotate");
    expect(hits.length).toBe(3);
    expect(JSON.stringify(hits)).not.toMatch(/a1b2|hunter2|example\.org/);
    for (const hit of hits) expect(hit.text).toContain("rotate");
    for (const hit of hits) expect(hit.text.length).toBeLessThan(610);
  });

  test("hits contain no invisible characters or escape sequences", async () => {
    const { search, run } = await engineWithHistory();
    await run({ prompt: "look \u{E0049}\u{E0047}\u200B\u202Ehere\u001b[31m now" });
    expect((await search("look")).hits.map((hit) => hit.text)).toContain("look <U+202E>here now");
  });

  test("a hit is returned once per asker, and the number of hidden hits is returned", async () => {
    const { search, run } = await engineWithHistory([commit("c1", "apples")]);
    await run({ prompt: "apples" });
    expect(await search("apples", { asker: "one", limit: 1 })).toMatchObject({ hits: [{}], hidden: 0 });
    expect(await search("apples", { asker: "one" })).toMatchObject({ hits: [{}, {}], hidden: 1 });
    expect(await search("apples", { asker: "one" })).toMatchObject({ hits: [], hidden: 3 });
    expect(await search("apples", { asker: "two" })).toMatchObject({ hits: [{}, {}, {}], hidden: 0 });
    expect(await search("apples")).toMatchObject({ hits: [{}, {}, {}], hidden: 0 });
  });

  test("a search excludes archived sessions and other projects, and returns the note of the commit search", async () => {
    const { search, run, api, session } = await engineWithHistory([], "no commits");
    await run({ prompt: "apples" });
    expect(await search("apples", { directory: "/elsewhere" })).toEqual({ hits: [], hidden: 0, notes: ["no commits"] });
    await api.session.archive({ session: session.id });
    expect(await search("apples")).toEqual({ hits: [], hidden: 0, notes: ["no commits"] });
  });
});

test("commits are ranked by rare words and by their subject", () => {
  const commits = [
    commit("a", "Fix the store"),
    commit("b", "Fix the lease", { body: "the store too" }),
    commit("c", "Fix", { files: ["store.ts"] }),
  ];
  expect(rankCommits(commits, "fix store").map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(rankCommits(commits, "LEASE").map(({ id }) => id)).toEqual(["b"]);
  expect(rankCommits(commits, "ease")).toEqual([]);
});
