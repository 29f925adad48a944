// The paths and processes that the program inside tries to reach. The test writes them to one JSON file.

export type World = {
  /** Part of every secret. An attempt that returns it has read one. */
  token: string;
  /** False in the runs that show that the attempts can succeed. */
  isSandboxed: boolean;
  /** The project of the program inside, and its current directory. */
  project: string;
  home: string;
  /** skein's own directories. */
  own: { config: string; data: string; state: string };
  /** Outside of the project: one directory for each attempt, with `victim` and `dir` in it. */
  outside: string;
  /** A process outside. It works in ~/.ssh, has a key open as 7 and victims as 6 and 8, and prints received signals. */
  victim: { pid: number };
  ports: { tcp: number; udp: number; dns: number };
  /** Listening sockets by location, and one abstract socket without a path. */
  sockets: { stream: Record<string, string>; datagram: string; abstract: string };
  /** The key of shared memory that every user may attach. */
  memory: number;
  /** Another terminal, in which the user starts skein; null if none could be created. */
  terminal: string | null;
  /** A program with the setuid bit of root, or null. */
  setuid: string | null;
  bun: string;
};

/**
 * The condition under which an attempt succeeded. `change`: its directory outside has changed. `read`: it returned the token.
 * `reach`: a listener outside received its name. `call` and `work`: it did not throw. Only `work` should succeed.
 */
export type Kind = "change" | "read" | "reach" | "call" | "work";

export type Attempt = {
  /** Also the name of its directory outside. */
  name: string;
  kind: Kind;
  /** Throws if it is stopped. `directory` is its directory outside. The test prints the returned text. */
  run: (world: World, directory: string) => unknown;
};

export type AttemptReport = { name: string; isDone: boolean; text: string };
