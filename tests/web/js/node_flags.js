// A server's flags by OpenFeature: prints what it was given for a visitor who comes twice, and an unknown flag.
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";

const [baseUrl, token] = process.argv.slice(2);
const headers = token ? [["Authorization", `Bearer ${token}`]] : [];
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl, headers }));
const client = OpenFeature.getClient();
const visitor = { targetingKey: "ann", device: "phone", age: 31.5 };
console.log(JSON.stringify({
  first: await client.getObjectDetails("homepage", {}, visitor),
  again: await client.getObjectDetails("homepage", {}, visitor),
  level: await client.getStringDetails("homepage.headline", "none", visitor),
  unknown: await client.getStringDetails("nowhere", "none", visitor),
  nobody: await client.getObjectDetails("homepage", {}),
}));
