// Runs a shell script in its own mount namespace, where "$@" is skein: for tests with full and read-only disks.
// Its mounts end with the script.
import { skeinCommand, type TemporaryHome } from "./temporary-home.ts";

export async function inOwnMounts(skein: TemporaryHome, script: string): Promise<{ code: number; out: string; err: string }> {
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const child = Bun.spawn(["unshare", ...asRoot, "--mount", "bash", "-ec", script, "bash", ...skeinCommand()], {
    cwd: skein.project,
    env: skein.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, out, err };
}
