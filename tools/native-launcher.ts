// Builds the native launcher for both machine types from src/sandbox/launch/native/launcher.c, and writes its bytes to
// native-launcher.json beside it. Needs gcc and a gcc for the other machine type (Debian: gcc-aarch64-linux-gnu).
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const directory = join(import.meta.dir, "../src/sandbox/launch/native");
const compilers = { x64: "x86_64-linux-gnu-gcc", arm64: "aarch64-linux-gnu-gcc" } as const;

const flags = [
  "-Os",
  "-nostdlib",
  "-static",
  "-ffreestanding",
  "-fno-stack-protector",
  "-fno-asynchronous-unwind-tables",
  "-fno-unwind-tables",
  "-fno-ident",
  "-fomit-frame-pointer",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-Wl,--build-id=none",
  "-Wl,-z,noseparate-code",
  "-Wl,-z,norelro",
  "-Wl,-n",
  "-s",
];

/** Stored with the bytes, so that a change of the source without a build is noticed on every machine. */
export function sourceHash(): string {
  return new Bun.CryptoHasher("sha256").update(readFileSync(join(directory, "launcher.c"))).digest("hex");
}

/** Null if the compiler is not installed. */
export function buildNativeLauncher(arch: keyof typeof compilers): { bytes: Buffer; compiler: string } | null {
  const compiler = Bun.which(compilers[arch]);
  if (compiler === null) return null;
  const temporary = mkdtempSync(join(tmpdir(), "skein-launcher-"));
  try {
    const output = join(temporary, "launcher");
    const { exitCode, stderr } = Bun.spawnSync([compiler, ...flags, "-o", output, join(directory, "launcher.c")]);
    if (exitCode !== 0) throw new Error(stderr.toString());
    const version = Bun.spawnSync([compiler, "-dumpfullversion"]).stdout.toString().trim();
    return { bytes: readFileSync(output), compiler: `gcc ${version}` };
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const programs: Record<string, string> = {};
  let builtBy = "";
  for (const arch of ["x64", "arm64"] as const) {
    const built = buildNativeLauncher(arch);
    if (built === null) throw new Error(`${compilers[arch]} is not installed`);
    programs[arch] = built.bytes.toString("base64");
    builtBy = built.compiler;
    console.log(`${arch}: ${built.bytes.length} bytes, ${built.compiler}`);
  }
  await Bun.write(
    join(directory, "native-launcher.json"),
    `${JSON.stringify({ compiler: builtBy, source: sourceHash(), programs }, null, 2)}\n`,
  );
}
