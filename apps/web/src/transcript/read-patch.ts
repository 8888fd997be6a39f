import { type PatchedFile, type ShownBlock, toPatchedFiles } from '@recount/contract/conversation';

/** Files that a call patches, by an editing tool or in a shell; none if its input was cut. */
export const readPatch = ({ tool_kind: kind, tool_input: input, metadata }: ShownBlock): PatchedFile[] =>
  (kind === 'edit' || kind === 'shell') && metadata.truncated !== true ? toPatchedFiles(input) : [];
