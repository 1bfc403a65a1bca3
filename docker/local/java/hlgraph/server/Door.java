package hlgraph.server;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.UnaryOperator;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.SecureAuxTransportSettingsProvider;
import org.opensearch.plugins.SecureHttpTransportSettingsProvider;
import org.opensearch.plugins.SecureSettingsFactory;
import org.opensearch.plugins.SecureTransportSettingsProvider;
import org.opensearch.plugins.TransportExceptionHandler;
import org.opensearch.rest.BytesRestResponse;
import org.opensearch.rest.RestChannel;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestHeaderDefinition;
import org.opensearch.rest.RestRequest;
import org.opensearch.transport.client.node.NodeClient;

/**
 * TLS and basic authentication for one user, at the places where the security plugin hooks in: the transport of the
 * server itself does the TLS, and every REST handler is wrapped. The security plugin is not published as a jar for version 3.5.
 *
 * <p>Reads config/door.properties: user, password, keystore (a PKCS 12 file beside it), keystore_password.
 */
public final class Door extends Plugin implements ActionPlugin {
    private final byte[] pass;
    private final SSLContext tls;

    public Door(Settings settings, Path configuration) throws IOException, GeneralSecurityException {
        Properties read = new Properties();
        try (InputStream stream = Files.newInputStream(configuration.resolve("door.properties"))) {
            read.load(stream);
        }
        String both = read.getProperty("user") + ":" + read.getProperty("password");
        pass = Base64.getEncoder().encode(both.getBytes(StandardCharsets.UTF_8));
        char[] secret = read.getProperty("keystore_password").toCharArray();
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream stream = Files.newInputStream(configuration.resolve(read.getProperty("keystore")))) {
            keys.load(stream, secret);
        }
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, secret);
        tls = SSLContext.getInstance("TLS");
        tls.init(factory.getKeyManagers(), null, null);
    }

    @Override
    public UnaryOperator<RestHandler> getRestHandlerWrapper(ThreadContext context, Set<RestHeaderDefinition> headers) {
        return Guarded::new;
    }

    @Override
    public Optional<SecureSettingsFactory> getSecureSettingFactory(Settings settings) {
        return Optional.of(new TlsForHttp());
    }

    private boolean mayPass(RestRequest request) {
        List<String> sent = request.getAllHeaderValues("Authorization");
        if (sent == null || sent.size() != 1 || !sent.get(0).regionMatches(true, 0, "Basic ", 0, 6)) {
            return false;
        }
        byte[] given = sent.get(0).substring(6).trim().getBytes(StandardCharsets.UTF_8);
        return MessageDigest.isEqual(given, pass);
    }

    private final class Guarded extends RestHandler.Wrapper {
        Guarded(RestHandler handler) {
            super(handler);
        }

        @Override
        public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws Exception {
            if (mayPass(request)) {
                super.handleRequest(request, channel, client);
                return;
            }
            request.content(); // the body counts as read, else the channel reports it as left over
            request.params().keySet().forEach(request::param);
            BytesRestResponse refusal = new BytesRestResponse(RestStatus.UNAUTHORIZED, "Unauthorized");
            refusal.addHeader("WWW-Authenticate", "Basic realm=\"OpenSearch\", charset=\"UTF-8\"");
            channel.sendResponse(refusal);
        }
    }

    private final class TlsForHttp implements SecureSettingsFactory, SecureHttpTransportSettingsProvider {
        @Override
        public Optional<SecureTransportSettingsProvider> getSecureTransportSettingsProvider(Settings settings) {
            return Optional.empty();
        }

        @Override
        public Optional<SecureHttpTransportSettingsProvider> getSecureHttpTransportSettingsProvider(Settings settings) {
            return Optional.of(this);
        }

        @Override
        public Optional<SecureAuxTransportSettingsProvider> getSecureAuxTransportSettingsProvider(Settings settings) {
            return Optional.empty();
        }

        @Override
        public Optional<TransportExceptionHandler> buildHttpServerExceptionHandler(
            Settings settings,
            HttpServerTransport transport
        ) {
            return Optional.of(TransportExceptionHandler.NOOP);
        }

        @Override
        public Optional<SSLEngine> buildSecureHttpServerEngine(Settings settings, HttpServerTransport transport) {
            SSLEngine engine = tls.createSSLEngine();
            engine.setUseClientMode(false);
            engine.setEnabledProtocols(new String[] { "TLSv1.3", "TLSv1.2" });
            return Optional.of(engine);
        }
    }
}
