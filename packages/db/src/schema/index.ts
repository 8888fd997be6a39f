export * from './live.ts';
export * from './messages.ts';
export * from './recount-schema.ts';
export * from './search.ts';
export * from './transcripts.ts';
export * from './usage.ts';
export * from './workspace-settings.ts';
export * from './workspaces.ts';
