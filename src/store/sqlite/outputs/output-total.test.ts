import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beginTurn } from "../../fixtures/begin-turn.ts";
import type { Lease, Store } from "../../store.ts";
import { openStore } from "../sqlite-store.ts";

const megabyte = 1 << 20;
const totalBytes = 32 * megabyte;
const directories: string[] = [];
const stores: Store[] = [];

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

async function open(): Promise<{ store: Store; stored: () => number }> {
  const directory = mkdtempSync(join(tmpdir(), "skein-total-"));
  directories.push(directory);
  const outputsDir = join(directory, "outputs");
  const store = await openStore({ path: join(directory, "store.db"), outputsDir, bounds: { totalBytes } });
  stores.push(store);
  const stored = () =>
    readdirSync(outputsDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  return { store, stored };
}

async function write(store: Store, lease: Lease, size: number): Promise<string> {
  const output = store.openOutput(lease, crypto.randomUUID(), "bash");
  for (let written = 0; written < size; written += megabyte) output.write(new Uint8Array(megabyte).fill(65 + ((written / megabyte) % 26)));
  return (await output.close({}, 1000))!.identifier;
}

const sizeOf = async (store: Store, identifier: string) =>
  (await new Response(await store.readOutput(identifier)).arrayBuffer()).byteLength;

test("over the bound, outputs of sessions that do not run are cut, the oldest first, and the store stays intact", async () => {
  const { store, stored } = await open();
  const old: string[] = [];
  for (let session = 0; session < 6; session += 1) {
    const { lease } = await beginTurn(store);
    old.push(await write(store, lease, 10 * megabyte));
    await store.release(lease);
  }
  const { lease } = await beginTurn(store);
  const running = await write(store, lease, 8 * megabyte);
  expect(stored()).toBeLessThan(totalBytes + 12 * megabyte);
  expect(await sizeOf(store, old[0]!)).toBeLessThan(3 * megabyte);
  const text = await new Response(await store.readOutput(old[0]!)).text();
  expect(text).toMatch(/^A+\n\[\.\.\. 8388608 bytes not kept \.\.\.\]\nJ+$/);
  expect(await sizeOf(store, running)).toBe(8 * megabyte);
  expect((await store.verify({ repair: false })).problems).toEqual([]);
});

test("a running session that reaches the bound alone keeps its outputs, and new ones are stored as head and tail", async () => {
  const { store, stored } = await open();
  const { lease } = await beginTurn(store);
  const outputs: string[] = [];
  for (let count = 0; count < 20; count += 1) outputs.push(await write(store, lease, 8 * megabyte));
  expect(await sizeOf(store, outputs[0]!)).toBe(8 * megabyte);
  expect(await sizeOf(store, outputs.at(-1)!)).toBeLessThan(3 * megabyte);
  expect(stored()).toBeLessThan(totalBytes + 60 * megabyte);
});
