import type { DIGEST_PERIODS } from '@recount/contract/choices';
import { primaryKey, sql, text, unique } from '../drizzle.cjs';
import { identifier, isoTimestamp, jsonObject, recountSchema } from './column-types.ts';

/** Reports that are sent when a week or month is over. */
export const digests = recountSchema.table(
  'digests',
  {
    workspace_id: identifier().notNull(),
    id: identifier().notNull(),
    name: text().notNull(),
    period: text().$type<(typeof DIGEST_PERIODS)[number]>().notNull(),
    time_zone: text().notNull(),
    /** The filters of reports, as a request has them. */
    filters: jsonObject().notNull(),
    /** Destinations that get it; null for all. */
    destination_ids: text().array(),
    /** First day of the latest period that was sent; null if none was. */
    sent_period: text(),
    created_at: isoTimestamp().notNull().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.workspace_id, table.id] }),
    unique('digests_name_unique').on(table.workspace_id, table.name),
  ],
);
