// Where programs are looked for when the environment does not say.

export function searchPath(env: Record<string, string | undefined>): string {
  return env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
}
