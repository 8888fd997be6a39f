export * from './service-config.ts';
