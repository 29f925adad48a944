// Waits until a file in a directory is created or opened, then exchanges the directory with another path. A tool could do
// the same. Arguments: the event (`create` or `open`), the directory, the other path. Prints `watching` and `swapped`.
import { dlopen, FFIType, ptr } from "bun:ffi";

export type SwapperArguments = [event: "create" | "open", directory: string, other: string];

const [event, directory, other] = process.argv.slice(2) as SwapperArguments;
const { symbols: libc } = dlopen("libc.so.6", {
  inotify_init1: { args: [FFIType.i32], returns: FFIType.i32 },
  inotify_add_watch: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  read: { args: [FFIType.i32, FFIType.ptr, FFIType.u64], returns: FFIType.i64 },
  renameat2: { args: [FFIType.i32, FFIType.ptr, FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
});
const text = (value: string) => ptr(Buffer.from(`${value}\0`));
const mask = event === "create" ? 0x100 : 0x20;
const isDirectory = 0x4000_0000;
const exchange = 2;
const here = -100;

const queue = libc.inotify_init1(0);
if (libc.inotify_add_watch(queue, text(directory), mask) < 0) throw new Error(`${directory} can't be watched`);
process.stdout.write("watching\n");
const buffer = Buffer.alloc(4_096);
for (let found = false; !found;) {
  const length = Number(libc.read(queue, ptr(buffer), buffer.length));
  for (let at = 0; at < length; at += 16 + buffer.readUInt32LE(at + 12))
    found ||= (buffer.readUInt32LE(at + 4) & isDirectory) === 0 && buffer.readUInt32LE(at + 12) > 0;
}
const code = libc.renameat2(here, text(directory), here, text(other), exchange);
process.stdout.write(code === 0 ? "swapped\n" : "failed\n");
