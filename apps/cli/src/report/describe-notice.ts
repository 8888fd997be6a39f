import { formatCountOf } from '../terminal/format-values.ts';
import { toSingleLine } from '../terminal/text-width.ts';

/** Parts of one version of an agent that recount does not read or does not know. */
export interface Notice {
  agent: string;
  agentVersion: string | null;
  message: string;
  transcriptCount: number;
  occurrenceCount: number;
}

/** E.g. `claude-code 2.1.400: Unknown line type, heron (12 times in 3 transcripts)`. */
export function describeNotice({ agent, agentVersion, message, transcriptCount, occurrenceCount }: Notice): string {
  const name = agentVersion === null ? agent : `${agent} ${agentVersion}`;
  const places = `${formatCountOf(occurrenceCount, 'time')} in ${formatCountOf(transcriptCount, 'transcript')}`;
  return `${toSingleLine(name)}: ${toSingleLine(message)} (${places})`;
}
