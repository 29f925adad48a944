// The port of a worktree, for servers that its tools start. It depends on the directory, so it is usually the same again.

const firstPort = 20_000;
const portCount = 10_000;
const maxTries = 200;

/** A port that is not in `taken` and that a server can use now. Another program may use it later. */
export function choosePort(directory: string, taken: readonly number[]): number {
  const start = Number(Bun.hash(directory) % BigInt(portCount));
  const candidates = Array.from({ length: maxTries }, (_, index) => firstPort + ((start + index * 7) % portCount));
  const free = candidates.filter((port) => !taken.includes(port));
  return free.find(isFree) ?? free[0] ?? firstPort + start;
}

function isFree(port: number): boolean {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data: () => {} } }).stop(true);
    return true;
  } catch {
    return false;
  }
}
