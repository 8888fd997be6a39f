export * from './messages.ts';
export * from './recount-schema.ts';
export * from './transcripts.ts';
export * from './workspaces.ts';
