// A page's flags by OpenFeature, all fetched at once: bundled, then run in a browser.
import { OpenFeature } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

window.flags = async (baseUrl) => {
  await OpenFeature.setContext({ targetingKey: "bob", device: "phone" });
  await OpenFeature.setProviderAndWait(new OFREPWebProvider({ baseUrl, pollInterval: 200 }));
  const client = OpenFeature.getClient();
  await new Promise((after) => setTimeout(after, 1000));  // it asks again meanwhile, and is told that nothing changed
  return {
    combination: client.getObjectDetails("homepage", {}),
    level: client.getStringDetails("homepage.headline", "none"),
    unknown: client.getStringDetails("nowhere", "none"),
  };
};
