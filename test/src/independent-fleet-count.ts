/** API responses of many transcripts, each counted once by its message id, with the largest figure of each class. */
export interface FleetCount {
  responses: number;
  tokensIn: number;
  tokensOut: number;
  cacheRead: number;
  cacheWrite: number;
}

type Fields = Record<string, unknown>;

const toObject = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const FIELDS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;

/**
 * Counts without any of recount's code, as a second opinion on its usage ledger. Messages without an id are left out.
 */
export function countFleet(transcripts: readonly Uint8Array[]): FleetCount {
  const byId = new Map<string, number[]>();
  for (const bytes of transcripts) {
    // A message that begins as synthetic is not the API's, whatever its later lines say.
    const synthetic = new Set<unknown>();
    for (const line of Buffer.from(bytes).toString('utf8').split('\n')) {
      for (const message of toMessages(line)) {
        if (message.model === '<synthetic>') synthetic.add(message.id);
        else if (!synthetic.has(message.id)) addMessage(byId, message);
      }
    }
  }
  const sums = FIELDS.map((_, index) => [...byId.values()].reduce((sum, counts) => sum + (counts[index] ?? 0), 0));
  const [tokensIn = 0, tokensOut = 0, cacheRead = 0, cacheWrite = 0] = sums;
  return { responses: byId.size, tokensIn, tokensOut, cacheRead, cacheWrite };
}

function toMessages(line: string): Fields[] {
  let record: Fields;
  try {
    record = toObject(JSON.parse(line));
  } catch {
    return [];
  }
  if (record.type === 'assistant') return [toObject(record.message)];
  const data = toObject(record.data);
  return record.type === 'progress' && data.type === 'agent_progress' ? [toObject(toObject(data.message).message)] : [];
}

function addMessage(byId: Map<string, number[]>, { id, usage }: Fields): void {
  if (typeof id !== 'string' || typeof usage !== 'object' || usage === null) return;
  const known = byId.get(id) ?? FIELDS.map(() => 0);
  const counts = FIELDS.map((field, index) => {
    const count = (usage as Fields)[field];
    return Math.max(known[index] ?? 0, typeof count === 'number' ? count : 0);
  });
  byId.set(id, counts);
}
