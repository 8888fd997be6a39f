import { PgBoss } from 'pg-boss';
import {
  DEAD_LETTER_QUEUE,
  deadLetterQueueOptions,
  INGEST_QUEUE,
  ingestQueueOptions,
  SMALL_INGEST_QUEUE,
} from './queue-options.ts';

/** Creates or upgrades the queue's tables and queues. Many processes may call it at once. */
export async function migrateQueue(connectionString: string): Promise<void> {
  const boss = new PgBoss({
    connectionString,
    application_name: 'recount migrate queue',
    max: 2,
    supervise: false,
    schedule: false,
  });
  const failures: Error[] = [];
  boss.on('error', (error) => failures.push(error));
  await boss.start();
  try {
    for (const [name, options] of [
      [DEAD_LETTER_QUEUE, deadLetterQueueOptions],
      [INGEST_QUEUE, ingestQueueOptions],
      [SMALL_INGEST_QUEUE, ingestQueueOptions],
    ] as const) {
      const { policy: _policy, ...changeable } = options;
      await boss.createQueue(name, options);
      await boss.updateQueue(name, changeable);
    }
  } finally {
    await boss.stop({ graceful: false });
  }
  if (failures[0] !== undefined) throw failures[0];
}
