// Identifies the state of the machine for which the result of the probe is valid. Every start reads it, so it is small.
import { existsSync, readFileSync, readlinkSync } from "node:fs";

export const kernelSettings = {
  apparmor: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
  clone: "/proc/sys/kernel/unprivileged_userns_clone",
  maxUser: "/proc/sys/user/max_user_namespaces",
};

/** Changes with the version, the boot, the namespaces, the rights of this process and the kernel settings. */
export function machineKey(version: string): string {
  const status = readText("/proc/self/status");
  const rights = ["Uid", "CapEff", "NoNewPrivs", "Seccomp"].map((name) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "");
  const values = Object.values(kernelSettings).map((path) => readText(path).trim());
  return [version, readText("/proc/sys/kernel/random/boot_id").trim(), linkAt("/proc/self/ns/user"), ...rights, ...values].join(" ");
}

/** Empty if the file can't be read. Most machines lack some of the settings, and an exception costs more than a check. */
export function readText(path: string): string {
  try {
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}

export function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
