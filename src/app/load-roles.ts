// Loads the roles of a directory, with the trust of its project.
import { findProject } from "../config/paths.ts";
import { trustState } from "../config/trust.ts";
import type { AppContext } from "./app-context.ts";
import type { RoleList } from "../protocol/api/role.ts";
import { scanRoles } from "../roles/scan-roles.ts";

export function loadRoles({ paths, project: appProject, isTrusted }: AppContext, directory: string): RoleList {
  const project = findProject(directory, paths.home);
  const trusted = () => (project === appProject ? isTrusted() : trustState(paths, project).trusted);
  return scanRoles({ project, home: paths.home, configDir: paths.config, trusted });
}
