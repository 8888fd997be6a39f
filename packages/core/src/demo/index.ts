export { MODELS, PEOPLE, PLANS, TEAMS } from './demo-team.ts';
export { type DemoTranscript, generateDemo } from './generate-demo.ts';
export { type DemoCost, makeDemoBill } from './make-demo-bill.ts';
