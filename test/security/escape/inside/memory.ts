// Shared memory of System V: created outside, searched inside.
import { toBuffer } from "bun:ffi";
import { call } from "./calls.ts";

const bytes = 64;
const create = 0o1666;
const remove = 0;

export function shareMemory(text: string): { key: number; remove: () => void } {
  const key = 1 + Math.floor(Math.random() * 0x7fff_fffe);
  const id = call("shmget", key, bytes, create);
  attach(id).write(`${text}\n`);
  return { key, remove: () => void call("shmctl", id, remove, null) };
}

export function readMemoryOf(key: number): string {
  return attach(call("shmget", key, bytes, 0)).toString("latin1");
}

function attach(id: number): Buffer {
  return Buffer.from(toBuffer(call("shmat", id, null, 0) as Parameters<typeof toBuffer>[0], 0, bytes).buffer);
}
