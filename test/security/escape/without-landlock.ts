// Executes a command on a kernel that seems to have no Landlock: a filter answers the first call of Landlock with ENOSYS.
import { ptr } from "bun:ffi";
import { openRawCalls } from "../../../src/sandbox/launch/raw-call.ts";
import { callNumber } from "../../../src/sandbox/launch/syscalls.ts";

const landlockCreate = 444;
const noSuchCall = 38;
const [load, jumpIfEqual, give] = [0x20, 0x15, 0x06];
const [errorAction, allowAction] = [0x0005_0000, 0x7fff_0000];

const program = Buffer.concat([
  instruction(load, 0),
  instruction(jumpIfEqual, landlockCreate, 0, 1),
  instruction(give, errorAction | noSuchCall),
  instruction(give, allowAction),
]);
const { call } = openRawCalls();
call(callNumber("prctl"), [38, 1]);
const filter = new BigUint64Array([BigInt(program.length / 8), BigInt(ptr(program))]);
if (call(callNumber("seccomp"), [1, 0, ptr(filter)]) !== 0) throw new Error("no filter");
const command = process.argv.slice(2);
const { exitCode } = Bun.spawnSync(command, { stdio: ["inherit", "inherit", "inherit"] });
process.exit(exitCode);

function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
