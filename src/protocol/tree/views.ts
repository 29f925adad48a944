// Types of views on the tree: a session at one moment, found nodes, two branches side by side, the data of a handle.
export type {
  BranchComparison,
  BranchFilesReport,
  BranchSide,
  FoundNode,
  HandleContent,
  OpenTurnView,
  SessionView,
  SpawnedSession,
} from "../schema/results.ts";
export type { ExportedFiles } from "../schema/printed.ts";
