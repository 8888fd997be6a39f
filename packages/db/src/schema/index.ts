export * from '../live/schema.ts';
export * from '../messages/schema.ts';
export * from '../search/schema.ts';
export * from '../shares/schema.ts';
export * from '../transcripts/schema.ts';
export * from '../usage/rollups-schema.ts';
export * from '../usage/schema.ts';
export * from '../workspaces/schema.ts';
export { recountSchema } from './column-types.ts';
