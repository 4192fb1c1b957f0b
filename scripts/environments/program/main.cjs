const sandgate = require("sandgate");
const { dispatch } = require("./dispatch.mjs");

dispatch(sandgate).then((results) => console.log(`RESULTS ${JSON.stringify(results)}`));
