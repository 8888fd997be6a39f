import { type ContentBlock, type Session, type Turn, toAsker, toVisible } from '@recount/contract';
import { findAttachmentReference } from '@recount/core';

export interface DocumentLayout {
  /** IANA name. */
  timeZone: string;
  currencyLabel: string;
}

/** A document's title and facts about its session. */
export function toDocumentHeading(
  session: Session,
  { timeZone, currencyLabel }: DocumentLayout,
): { title: string; facts: string[] } {
  const { tokens_in: input, tokens_out: output, cache_read: read, cache_write: written } = session;
  const tokens = input === null ? null : input + (output ?? 0) + (read ?? 0) + (written ?? 0);
  const facts = [
    session.agent,
    session.models.join(', '),
    session.project ?? '',
    formatTime(session.first_timestamp, timeZone),
    `${session.total_messages.toLocaleString('en-US')} messages`,
    ...(tokens === null
      ? ['tokens and cost not known']
      : [`${tokens.toLocaleString('en-US')} tokens`, formatCost(session.cost_estimate_usd, currencyLabel)]),
    session.output_only_count > 0 ? 'tokens and cost too low, because a run was cut off' : '',
  ];
  return { title: toLine(session.title), facts: facts.filter(Boolean).map(toLine) };
}

const NAMES: Readonly<Record<Exclude<Turn['kind'], 'prompt'>, string>> = {
  answer: 'Agent',
  context: 'Context',
  system: 'System',
};

/** Who speaks, when, and at what cost. */
export function toTurnHeading(
  { kind, message }: Turn,
  { timeZone, currencyLabel }: DocumentLayout,
  isSubagent: boolean,
): string {
  const name =
    kind === 'answer'
      ? (message.model ?? NAMES.answer)
      : kind === 'prompt'
        ? toAsker(message, isSubagent)
        : NAMES[kind];
  const cost = message.cost_usd === null ? '' : formatCost(message.cost_usd, currencyLabel);
  return [name, formatTime(message.timestamp, timeZone), cost, `line ${message.line_number}`]
    .filter(Boolean)
    .map(toLine)
    .join(' · ');
}

/** A note for a block whose text is only its beginning; undefined for others. */
export function toLeftOutNote(
  agent: string,
  { attachment, result_text: text, metadata }: Pick<ContentBlock, 'attachment' | 'result_text' | 'metadata'>,
): string | undefined {
  if (attachment !== undefined) {
    const { path, size_bytes: sizeBytes } = attachment;
    return toLine(`The whole result, ${sizeBytes.toLocaleString('en-US')} bytes in ${path}, is left out here.`);
  }
  const reference = text === null ? undefined : findAttachmentReference(agent, text);
  if (reference !== undefined) return toLine(`The whole result was saved in ${reference.path}, which is not stored.`);
  if (metadata.truncated !== true) return undefined;
  const { original_byte_length: bytes } = metadata;
  const size = typeof bytes === 'number' ? ` of ${bytes.toLocaleString('en-US')} bytes` : '';
  return `This is the beginning${size}. The raw transcript has the whole.`;
}

const toLine = (text: string): string => toVisible(text.replace(/\s+/g, ' ').trim());

function formatTime(timestamp: string | null, timeZone: string): string {
  if (timestamp === null) return '';
  const options = { timeZone, dateStyle: 'short', timeStyle: 'short' } as const;
  return `${new Intl.DateTimeFormat('sv-SE', options).format(new Date(timestamp))} ${timeZone}`;
}

function formatCost(cost: number | null, currencyLabel: string): string {
  if (cost === null) return 'unpriced';
  return `${cost.toFixed(Math.abs(cost) < 1 ? 4 : 2)} ${currencyLabel}`;
}
