// The roles of a directory: which files count there, and whether its project is trusted.
import { findProject } from "../config/paths.ts";
import { trustState } from "../config/trust.ts";
import type { AppContext } from "./app-context.ts";
import type { RoleList } from "../protocol/api/role.ts";
import { scanRoles } from "../roles/scan-roles.ts";

export function loadRoles({ paths, project: own, isTrusted }: AppContext, directory: string): RoleList {
  const project = findProject(directory, paths.home);
  const trusted = () => (project === own ? isTrusted() : trustState(paths, project).trusted);
  return scanRoles({ project, home: paths.home, configDir: paths.config, trusted });
}
