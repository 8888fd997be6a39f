import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { SourceItem, TranscriptSource } from '@recount/storage/sources';
import type { DeliveryTarget, StoredTranscript, TranscriptDelivery } from '../deliver/delivery-target.ts';

export interface MemoryTarget extends DeliveryTarget {
  stored: (StoredTranscript & { path: string; sha256: string })[];
  /** Highest number of concurrent deliveries. */
  maxUnderWay: number;
  /** Called before each delivery is read; may throw. */
  beforeSend: (delivery: TranscriptDelivery) => void | Promise<void>;
  /** The state of a stored transcript, and the one reported when it is polled. */
  firstStatus: StoredTranscript['status'];
  laterStatus: StoredTranscript['status'];
  askedIds: number;
}

/** Accepts every body as a transcript of the session that its path names. */
export function createMemoryTarget(settings: Partial<MemoryTarget> = {}): MemoryTarget {
  let underWay = 0;
  const target: MemoryTarget = {
    stored: [],
    maxUnderWay: 0,
    askedIds: 0,
    beforeSend: () => {},
    firstStatus: 'queued',
    laterStatus: 'ingested',
    async find({ sha256 }) {
      return target.stored.find((transcript) => transcript.sha256 === sha256);
    },
    async send(delivery) {
      underWay += 1;
      target.maxUnderWay = Math.max(target.maxUnderWay, underWay);
      try {
        await target.beforeSend(delivery);
        const hash = createHash('sha256');
        for await (const chunk of delivery.open(0)) hash.update(chunk);
        const sha256 = hash.digest('hex');
        const existing = target.stored.find((transcript) => transcript.sha256 === sha256);
        if (existing !== undefined)
          return { transcript: existing, isDuplicate: true, isHealed: false, sentFromByte: 0 };
        const transcriptId = `transcript-${target.stored.length}`;
        const { path } = delivery;
        const transcript = {
          transcriptId,
          sessionId: path,
          status: target.firstStatus,
          failureReason: null,
          path,
          sha256,
        };
        target.stored.push(transcript);
        return { transcript, isDuplicate: false, isHealed: false, sentFromByte: 0 };
      } finally {
        underWay -= 1;
      }
    },
    async readStatuses(ids) {
      target.askedIds += ids.length;
      const found = target.stored.filter(({ transcriptId }) => ids.includes(transcriptId));
      return found.map((transcript) => ({ ...transcript, status: target.laterStatus }));
    },
    countUnindexed: async () => 0,
    listAttachments: async () => new Set(),
    sendAttachment: async () => ({ attachmentId: 'attachment', outcome: 'stored' }),
    ...settings,
  };
  return target;
}

function toTranscript(sessionId: string): string {
  const types = ['user', 'assistant', 'user', 'assistant'];
  const lines = types.map((type, index) => ({
    type,
    sessionId,
    uuid: `${index}`,
    message: { role: type, content: 'x' },
  }));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** A source of the given content, by default a different transcript each time. */
export function toSource(
  name: string,
  { content = toTranscript(name), ...fields }: Partial<TranscriptSource> & { content?: string } = {},
): TranscriptSource {
  return {
    kind: 'transcript',
    location: `/home/ada/${name}.jsonl`,
    path: `/home/ada/${name}.jsonl`,
    consumedInputBytes: 0,
    reopenable: true,
    open: async () => Readable.from([Buffer.from(content)]),
    ...fields,
  };
}

export async function* toItems(items: Iterable<SourceItem>): AsyncGenerator<SourceItem> {
  yield* items;
}
