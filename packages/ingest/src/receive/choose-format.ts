import { DEFAULT_AGENT_ID, findFormat, findReadableFormat, type TranscriptIdentity } from '@recount/core';

/**
 * What a transcript is ingested as: what the caller knows it to be, else what its lines are, else, if they do not tell,
 * what the agent that its uploader names writes. Throws TypeError for an agent whose transcripts recount cannot read.
 */
export function chooseFormat(
  identity: Pick<TranscriptIdentity, 'format'>,
  { format = identity.format, agent = DEFAULT_AGENT_ID }: { format?: string | undefined; agent?: string | undefined },
): { agent: string; format: string } {
  const known = (format === undefined ? undefined : findFormat(format)) ?? findReadableFormat(agent);
  if (known === undefined) throw new TypeError(`recount cannot read transcripts of ${agent}`);
  return { agent: known.agent.id, format: known.format.id };
}
