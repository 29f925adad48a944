// One budget and the turns that draw on it at once.
import { describe, expect, test } from "bun:test";
import { createTestClock } from "../../kit/flow/fixtures/test-clock.ts";
import type { TurnError } from "../../protocol/api/error.ts";
import type { SettleReservation } from "../../protocol/api/ports.ts";
import type { Limits } from "../../protocol/api/turn-options.ts";
import { zeroUsage, type Spent } from "../../protocol/tree/usage.ts";
import { type BudgetAccount, openBudgetAccount } from "./budget.ts";

const open: Limits = { maxSteps: 10, maxTokens: null, maxBudgetUsd: null, maxChildren: null, treeSteps: null };
const used = (input: number, costUsd: number | null = 0): Spent => ({ usage: { ...zeroUsage, input }, costUsd });

function drawer() {
  const controller = new AbortController();
  const stopped = Promise.withResolvers<TurnError>();
  return { signal: controller.signal, stop: stopped.resolve, stopped: stopped.promise, abort: () => controller.abort() };
}

function root(limits: Partial<Limits>): BudgetAccount {
  return openBudgetAccount({ ...open, ...limits }, drawer());
}

async function granted(account: BudgetAccount, tokens = 0, costUsd = 0): Promise<SettleReservation> {
  const room = await account.reserve({ tokens, costUsd });
  if (typeof room !== "function") throw new Error(`refused: ${room.message}`);
  return room;
}

/** What a request that waits has got by now. */
async function soFar<T>(promise: Promise<T>): Promise<T | "waits"> {
  await Bun.sleep(0);
  return Promise.race([promise, Promise.resolve("waits" as const)]);
}

describe("one after the other", () => {
  test("requests go on while less than the limit is used, so that one alone may cross it", async () => {
    const turn = root({ maxTokens: 100 });
    (await granted(turn, 5000))(used(99));
    expect(turn.left().tokens).toBe(1);
    (await granted(turn, 5000))(used(30));
    expect(await turn.reserve({ tokens: 1, costUsd: 0 })).toMatchObject({
      kind: "budget",
      limit: "tokens",
      message: "the budget is used up: 129 of 100 tokens",
      hint: "raise --max-tokens and go on with --resume",
    });
    expect(turn.left().tokens).toBe(0);
    turn.leave();
  });

  test.each([
    ["tokens", { maxTokens: 10 }],
    ["money", { maxBudgetUsd: 0.5 }],
    ["steps", { treeSteps: 1 }],
  ] as const)("%s end it", async (limit, limits) => {
    const turn = root(limits);
    (await granted(turn))(used(10, 0.5));
    expect(await turn.reserve({ tokens: 0, costUsd: 0 })).toMatchObject({ limit });
    turn.leave();
  });

  test("cached input counts nothing, and an unknown price makes the others not free", async () => {
    const turn = root({ maxTokens: 10, maxBudgetUsd: 1 });
    (await granted(turn))({ usage: { ...zeroUsage, cacheRead: 1_000_000 }, costUsd: null });
    (await granted(turn))(used(1, 0.4));
    expect(turn.left()).toMatchObject({ tokens: 9, costUsd: 0.6 });
    turn.leave();
  });

  test("without limits nothing ends it, and nothing is left of what is not limited", async () => {
    const turn = root({});
    for (let at = 0; at < 100; at++) (await granted(turn, 1e9, 1e9))(used(1e9, 1e9));
    expect(turn.left()).toEqual({ tokens: null, costUsd: null, children: null });
    turn.leave();
  });

  test("a request is counted once, however often it is settled", async () => {
    const turn = root({ maxTokens: 100 });
    const settle = await granted(turn);
    settle(used(10));
    settle(used(10));
    expect(turn.left().tokens).toBe(90);
    turn.leave();
  });

  test("what could not be reserved is counted all the same, and says the limit it reaches", () => {
    const turn = root({ maxTokens: 100 });
    expect(turn.count(used(60))).toBeNull();
    expect(turn.count(used(60))).toMatchObject({ limit: "tokens" });
    turn.leave();
  });
});

describe("many at once", () => {
  test("fill what is left, and the next waits until one of them is counted", async () => {
    const turn = root({ maxTokens: 100 });
    const first = await granted(turn, 60);
    const second = await granted(turn, 40);
    const third = turn.reserve({ tokens: 10, costUsd: 0 });
    const fourth = turn.reserve({ tokens: 60, costUsd: 0 });
    expect(await soFar(third)).toBe("waits");
    first(used(20));
    expect(await soFar(third)).toBeFunction();
    expect(await soFar(fourth)).toBe("waits");
    second(used(20));
    expect(await soFar(fourth)).toBe("waits");
    ((await third) as SettleReservation)(used(5));
    expect(await soFar(fourth)).toBeFunction();
    ((await fourth) as SettleReservation)(used(55));
    expect(turn.left().tokens).toBe(0);
    turn.leave();
  });

  test("of any sizes go past the limit by less than one of them, when they are guessed right", async () => {
    for (let seed = 1; seed <= 50; seed++) {
      let state = seed;
      const random = (most: number) => 1 + ((state = (state * 48_271) % 2_147_483_647) % most);
      const turn = root({ maxTokens: 1000 });
      let total = 0;
      const work = async (): Promise<void> => {
        const own = turn.openSubAccount(drawer());
        for (;;) {
          const tokens = random(200);
          const room = await own.reserve({ tokens, costUsd: 0 });
          if (typeof room !== "function") return own.leave();
          await Bun.sleep(0);
          total += tokens;
          room(used(tokens));
        }
      };
      await Promise.all(Array.from({ length: 20 }, work));
      expect(total).toBeGreaterThanOrEqual(1000);
      expect(total).toBeLessThan(1200);
      turn.leave();
    }
  });

  test("money is shared like tokens", async () => {
    const turn = root({ maxBudgetUsd: 1 });
    const first = await granted(turn, 0, 0.9);
    const second = turn.reserve({ tokens: 0, costUsd: 0.2 });
    expect(await soFar(second)).toBe("waits");
    first(used(0, 1.1));
    expect(await second).toMatchObject({ limit: "money" });
    turn.leave();
  });

  test("one that is stopped while it waits is let go, and the next takes its place", async () => {
    const turn = root({ maxTokens: 100 });
    const running = await granted(turn, 90);
    const leaving = drawer();
    const child = turn.openSubAccount(leaving);
    const waiting = child.reserve({ tokens: 90, costUsd: 0 });
    const next = turn.reserve({ tokens: 20, costUsd: 0 });
    leaving.abort();
    expect(await waiting).toMatchObject({ kind: "cancelled" });
    running(used(50));
    expect(await soFar(next)).toBeFunction();
    child.leave();
    turn.leave();
  });
});

describe("when it is used up", () => {
  test("what runs below is stopped, but not before its last request is counted", async () => {
    const turn = root({ maxTokens: 100 });
    const [asking, working] = [drawer(), drawer()];
    const [child, other] = [turn.openSubAccount(asking), turn.openSubAccount(working)];
    const last = await granted(child, 40);
    (await granted(other, 40))(used(100));
    expect(await other.reserve({ tokens: 1, costUsd: 0 })).toMatchObject({ limit: "tokens" });
    expect(await working.stopped).toMatchObject({ kind: "budget" });
    expect(await soFar(asking.stopped)).toBe("waits");
    last(used(40));
    expect(await asking.stopped).toMatchObject({ kind: "budget" });
    for (const account of [child, other, turn]) account.leave();
  });

  test("the turn above is stopped only when all below it have come back", async () => {
    const above = drawer();
    const clock = createTestClock();
    const turn = openBudgetAccount({ ...open, maxTokens: 10 }, above, clock);
    const child = turn.openSubAccount(drawer());
    (await granted(child))(used(10));
    await child.reserve({ tokens: 1, costUsd: 0 });
    await clock.advance(1_100);
    expect(await soFar(above.stopped)).toBe("waits");
    child.leave();
    await clock.advance(1_000);
    expect(await above.stopped).toMatchObject({ limit: "tokens" });
    turn.leave();
  });

  test("no sub-session begins any more", async () => {
    const turn = root({ maxTokens: 10 });
    expect(turn.takeSubSession()).toBeNull();
    (await granted(turn))(used(10));
    expect(turn.takeSubSession()).toMatchObject({ limit: "tokens" });
    turn.leave();
  });
});

test("sub-sessions are counted over the whole run, and a refused one ends nothing", async () => {
  const turn = root({ maxChildren: 2 });
  expect([turn.takeSubSession(), turn.left().children]).toEqual([null, 1]);
  expect([turn.takeSubSession(), turn.left().children]).toEqual([null, 0]);
  expect(turn.takeSubSession()).toMatchObject({ limit: "children", message: "the budget of 2 sub-sessions is used up" });
  expect(await turn.reserve({ tokens: 1, costUsd: 0 })).toBeFunction();
  turn.leave();
});
