package hlgraph.server;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.lucene.analysis.th.ThaiTokenizer;
import org.opensearch.Version;
import org.opensearch.analysis.common.CommonAnalysisModulePlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.mapper.MapperExtrasModulePlugin;
import org.opensearch.index.reindex.ReindexModulePlugin;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessModulePlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.PluginInfo;
import org.opensearch.transport.Netty4ModulePlugin;

/**
 * Runs one OpenSearch node until it is told to stop. The stock main class wants an agent that is not published, and
 * reads plugins from folders; here both come from the class path.
 *
 * <p>Argument: the home folder, with config/opensearch.yml, data and logs in it.
 */
public final class OneNode {
    private OneNode() {}

    /** A node whose plugins are named here instead of found in a folder. */
    private static final class ClassPathNode extends Node {
        @SuppressWarnings({ "rawtypes", "unchecked" }) // what it takes differs, see plugin()
        ClassPathNode(Environment environment, Collection plugins) {
            super(environment, plugins, true);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            Settings.builder().put("path.home", home.toString()).build(),
            Map.of(),
            home.resolve("config"),
            () -> "hlgraph"
        );
        Node node = new ClassPathNode(environment, plugins());
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception error) {
                error.printStackTrace();
            } finally {
                stopped.countDown();
            }
        }, "stop"));
        node.start();
        stopped.await();
    }

    private static List<Object> plugins() {
        // A Java runtime that is cut to size lacks the Thai word breaker; every index would fail for want of it.
        Class<? extends Plugin> analysis =
            ThaiTokenizer.DBBI_AVAILABLE ? CommonAnalysisModulePlugin.class : AnalysisWithoutThai.class;
        return List.of(
            plugin("transport-netty4", Netty4ModulePlugin.class),
            plugin("lang-painless", PainlessModulePlugin.class),
            plugin("analysis-common", analysis),
            plugin("mapper-extras", MapperExtrasModulePlugin.class),
            plugin("reindex", ReindexModulePlugin.class),
            plugin("opensearch-knn", KNNPlugin.class, "lang-painless"),
            plugin("security", Door.class)
        );
    }

    private static Object plugin(String name, Class<? extends Plugin> made, String... extended) {
        // Before version 3 a node takes the classes alone.
        return Version.CURRENT.major < 3 ? made : new PluginInfo(
            name, name, Version.CURRENT.toString(), Version.CURRENT, "21", made.getName(), name, List.of(extended), false
        );
    }
}
